package mongostate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/mongo"
	"savant/think/state"
)

// life names what belongs to a run and not to a deleted one of its name: by the
// entry of its first record.
func (p tail) life(key state.Key) string { return entryKey(key, p.spans.seq(1)) }

func checkpointKey(life, name string, number int) string {
	return fmt.Sprintf("%s!%s/%06d", life, name, number)
}

// Save implements state.Journal. A checkpoint is kept under the next number of its name.
func (s *Store) Save(ctx context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	if err := state.ValidateNames(key, name); err != nil {
		return err
	}
	at, err := s.live(ctx, key)
	if err != nil {
		return err
	}
	text, err := state.EncodeSnapshot(key, snapshot, s.options.Now())
	if err != nil {
		return err
	}
	if stands, err := s.standsFor(ctx, key, at, snapshot); err != nil || !stands {
		return cmp.Or(err, error(fault.New(fault.StateConflict, "the snapshot of version v%d does not match a record of %s", snapshot.Version, key)))
	}
	if name == "" {
		return s.project(ctx, key, at, snapshot, text)
	}
	what := fmt.Sprintf("checkpoint %s of %s was not saved", name, key)
	for won := false; err == nil && !won; {
		var number int
		if _, number, err = s.newest(ctx, at.life(key), name); err == nil {
			won, err = s.checkpoints.Insert(ctx, mongo.Document{Key: checkpointKey(at.life(key), name, number+1), Body: text})
		}
	}
	return s.notSaved(ctx, what, err)
}

// project replaces the readable snapshot, unless a newer one is there.
func (s *Store) project(ctx context.Context, key state.Key, at tail, snapshot state.Snapshot, text []byte) error {
	present, err := s.projection(ctx, key, at)
	if err != nil || present.Version > snapshot.Version {
		return err
	}
	return s.notSaved(ctx, "the snapshot of "+key.String()+" was not saved",
		s.projections.Replace(ctx, mongo.Document{Key: at.life(key), Body: text}))
}

// standsFor reports whether a snapshot refers to a record of the run.
func (s *Store) standsFor(ctx context.Context, key state.Key, at tail, snapshot state.Snapshot) (bool, error) {
	switch version := at.version(); {
	case snapshot.Record == "" || snapshot.Version < 1 || snapshot.Version > version:
		return false, nil
	case snapshot.Version == version:
		return snapshot.Record == at.hash, nil
	}
	record, there, err := s.find(ctx, key, at.spans.seq(snapshot.Version))
	return there && state.ReadHead(record.body).Hash == snapshot.Record, err
}

// Load implements state.Journal.
func (s *Store) Load(ctx context.Context, key state.Key, name string) (state.Snapshot, error) {
	if err := state.ValidateNames(key, name); err != nil {
		return state.Snapshot{}, err
	}
	at, err := s.live(ctx, key)
	if err != nil {
		return state.Snapshot{}, err
	}
	if name == "" {
		return s.projection(ctx, key, at)
	}
	document, number, err := s.newest(ctx, at.life(key), name)
	if err != nil {
		return state.Snapshot{}, s.notRead(ctx, "checkpoint "+name, err)
	}
	if number == 0 {
		return state.Snapshot{}, fault.New(fault.CheckpointNotFound, "run %q of workflow %q has no checkpoint %q", key.Run, key.Workflow, name)
	}
	return s.verified(ctx, key, at, document)
}

// verified returns the snapshot of a document. STATE_CORRUPT.
func (s *Store) verified(ctx context.Context, key state.Key, at tail, document mongo.Document) (state.Snapshot, error) {
	snapshot, err := state.DecodeSnapshot(document.Key, key, document.Body)
	if err != nil {
		return state.Snapshot{}, err
	}
	stands, err := s.standsFor(ctx, key, at, snapshot)
	if err == nil && !stands {
		err = fault.New(fault.StateCorrupt, "%s: does not match a record of %s", document.Key, key)
	}
	if err != nil {
		return state.Snapshot{}, err
	}
	return snapshot, nil
}

// projection returns the readable snapshot, or the zero Snapshot where none belongs to
// the run.
func (s *Store) projection(ctx context.Context, key state.Key, at tail) (state.Snapshot, error) {
	document, there, err := s.projections.Find(ctx, at.life(key))
	if err != nil || !there {
		return state.Snapshot{}, s.notRead(ctx, "the snapshot of "+key.String(), err)
	}
	snapshot, err := s.verified(ctx, key, at, document)
	if errors.Is(err, fault.StateCorrupt) && !errors.Is(err, state.ErrNewerFormat) {
		return state.Snapshot{}, nil // it can be made again
	}
	return snapshot, err
}

// newest returns the checkpoint of a name with the highest number, 0 if there is none.
// It probes the numbers in order, because few checkpoints share a name.
func (s *Store) newest(ctx context.Context, life, name string) (newest mongo.Document, number int, err error) {
	for {
		document, more, err := s.checkpoints.Find(ctx, checkpointKey(life, name, number+1))
		if err != nil || !more {
			return newest, number, err
		}
		newest, number = document, number+1
	}
}

// Checkpoints implements state.Journal.
func (s *Store) Checkpoints(ctx context.Context, key state.Key) ([]state.CheckpointInfo, error) {
	at, err := s.live(ctx, key)
	if err != nil {
		return nil, err
	}
	documents, err := s.allCheckpoints(ctx, key, at)
	if err != nil {
		return nil, err
	}
	infos := []state.CheckpointInfo{}
	for name, document := range documents {
		snapshot, err := s.verified(ctx, key, at, document)
		if errors.Is(err, fault.StateCorrupt) && !errors.Is(err, state.ErrNewerFormat) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, state.CheckpointInfo{Name: name, Version: snapshot.Version, Time: snapshot.Time, Hash: snapshot.Hash})
	}
	slices.SortFunc(infos, func(a, b state.CheckpointInfo) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
	})
	return infos, nil
}

// allCheckpoints returns the newest document of each name.
func (s *Store) allCheckpoints(ctx context.Context, key state.Key, at tail) (map[string]mongo.Document, error) {
	prefix := at.life(key) + "!"
	keys := map[string]string{}
	err := s.checkpoints.Range(ctx, prefix, prefix+"~", func(document mongo.Document) error {
		name, _, _ := strings.Cut(strings.TrimPrefix(document.Key, prefix), "/")
		keys[name] = document.Key // in key order, so the highest number wins
		return nil
	})
	documents := map[string]mongo.Document{}
	for name, each := range keys {
		if err == nil {
			documents[name], _, err = s.checkpoints.Find(ctx, each)
		}
	}
	return documents, s.notRead(ctx, "the checkpoints of "+key.String(), err)
}
