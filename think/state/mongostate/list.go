package mongostate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"savant/fault"
	"savant/internal/mongo"
	"savant/think/state"
)

// atOnce bounds the runs read concurrently.
const atOnce = 16

// List implements state.Journal.
func (s *Store) List(ctx context.Context, filter state.Filter) ([]state.Info, error) {
	if err := (state.Key{Workflow: filter.Workflow, Run: "r"}).Validate(); filter.Workflow != "" && err != nil {
		return nil, err
	}
	if filter.Run != "" && (state.Key{Workflow: "w", Run: filter.Run}).Validate() != nil {
		return []state.Info{}, nil // there is no such run
	}
	hints, err := s.hints(ctx, filter)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	infos := []state.Info{}
	err = s.each(ctx, hints, func(ctx context.Context, key state.Key, hint hinted) error {
		info, there, err := s.info(ctx, key, hint)
		mu.Lock()
		defer mu.Unlock()
		if there {
			infos = append(infos, info)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	state.SortInfos(infos)
	return infos, nil
}

// foundRun is a run found by a document.
type foundRun struct {
	key  state.Key
	hint hinted
}

// hints returns the documents of the runs that match a filter, by name.
func (s *Store) hints(ctx context.Context, filter state.Filter) ([]foundRun, error) {
	var all []foundRun
	collect := func(document mongo.Document) error {
		workflow, run, ok := strings.Cut(document.Key, "/")
		if ok && !strings.Contains(run, "!") { // a mark of erased entries
			all = append(all, foundRun{state.Key{Workflow: workflow, Run: run}, readHint(document)})
		}
		return nil
	}
	if filter.Run == "" {
		from, to := " ", "~"
		if filter.Workflow != "" {
			from, to = filter.Workflow+"/", filter.Workflow+"0" // the character after /
		}
		return all, s.notRead(ctx, "the runs", s.runs.Range(ctx, from, to, collect))
	}
	workflows := []string{filter.Workflow}
	if filter.Workflow == "" {
		workflows = nil
		err := s.workflows.Range(ctx, " ", "~", func(document mongo.Document) error {
			workflows = append(workflows, document.Key)
			return nil
		})
		if err != nil {
			return nil, s.notRead(ctx, "the workflows", err)
		}
	}
	for _, workflow := range workflows {
		key := state.Key{Workflow: workflow, Run: filter.Run}
		document, there, err := s.runs.Find(ctx, key.String())
		if err != nil {
			return nil, s.notRead(ctx, key.String(), err)
		}
		if there {
			_ = collect(document)
		}
	}
	return all, nil
}

// each visits runs concurrently.
func (s *Store) each(ctx context.Context, runs []foundRun, look func(context.Context, state.Key, hinted) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, run := range runs {
		group.Go(func() error { return look(ctx, run.key, run.hint) })
	}
	return group.Wait()
}

// info describes a run: by its hint, or by what this process saw later, where its log has
// not moved on since.
func (s *Store) info(ctx context.Context, key state.Key, hint hinted) (info state.Info, there bool, err error) {
	info = state.Info{Workflow: key.Workflow, Run: key.Run, Status: hint.Status, Version: hint.Version, Created: hint.Created, Updated: hint.Updated}
	at, known := s.remembered(key)
	if known && at.seq > hint.Seq || hint.Seq == 0 {
		at, err = s.locate(ctx, key)
	} else {
		next, moved, lost := s.find(ctx, key, hint.Seq+1)
		if lost != nil || !moved {
			return info, lost == nil && hint.Version > 0, lost
		}
		at, err = s.locateAfter(ctx, key, tail{from: hint.From, created: hint.Created}, next)
	}
	if err == nil {
		at, err = s.withCreated(ctx, key, at)
	}
	if errors.Is(err, fault.StateCorrupt) {
		info.Status = state.StatusDamaged
		return info, true, nil
	}
	if err != nil || at.version() == 0 {
		return info, false, err
	}
	s.remember(key, at)
	info.Status, info.Version, info.Created, info.Updated = at.status, at.version(), at.created, at.updated
	return info, true, nil
}

// Keys implements state.Maintenance.
func (s *Store) Keys(ctx context.Context) ([]state.Key, error) {
	infos, err := s.List(ctx, state.Filter{})
	if err != nil {
		return nil, err
	}
	keys := make([]state.Key, len(infos))
	for i, info := range infos {
		keys[i] = info.Key()
	}
	slices.SortFunc(keys, func(a, b state.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}
