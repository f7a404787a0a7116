package mongostate

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/think/state"
)

// Delete implements state.Journal. The records stay and can be restored.
func (s *Store) Delete(ctx context.Context, key state.Key) error { return s.discard(ctx, key, 0) }

// DeleteAt implements state.Maintenance.
func (s *Store) DeleteAt(ctx context.Context, key state.Key, version int) error {
	return s.discard(ctx, key, version)
}

// discard deletes a run, if it is still at a version or that is 0.
func (s *Store) discard(ctx context.Context, key state.Key, version int) error {
	return s.change(ctx, key, func(at tail) (view, error) {
		switch found := at.version(); {
		case found == 0:
			return view{}, unknownRun(key)
		case version != 0 && version != found:
			return view{}, fault.New(fault.StateConflict, "expected version v%d of %s, found v%d", version, key, found)
		}
		gone := deleted{Run: at.spans, Moved: s.options.Now().UTC().Format(time.RFC3339Nano)}
		return view{Trash: append(slices.Clone(at.trash), gone)}, nil
	})
}

// Undelete implements state.Maintenance.
func (s *Store) Undelete(ctx context.Context, key state.Key) error {
	return s.change(ctx, key, func(at tail) (view, error) {
		last := len(at.trash) - 1
		if last < 0 {
			return view{}, fault.New(fault.UnknownRun, "no run %q of workflow %q was deleted", key.Run, key.Workflow)
		}
		if version := at.version(); version > 0 {
			return view{}, fault.New(fault.StateConflict, "run %q of workflow %q exists, at version v%d", key.Run, key.Workflow, version)
		}
		return view{Run: at.trash[last].Run, Trash: at.trash[:last]}, nil
	})
}

// trashFolder begins the place of a deleted run, as Trash names it.
const trashFolder = "trash/"

// Trash implements state.Maintenance. An item is named by its first entry.
func (s *Store) Trash(ctx context.Context) ([]state.Trashed, error) {
	hints, err := s.hints(ctx, state.Filter{})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	items := []state.Trashed{}
	err = s.each(ctx, hints, func(ctx context.Context, key state.Key, hint hinted) error {
		if _, moved, err := s.find(ctx, key, hint.Seq+1); err != nil || hint.Deleted == 0 && hint.Seq > 0 && !moved {
			return err
		}
		at, err := s.locate(ctx, key)
		mu.Lock()
		defer mu.Unlock()
		for _, each := range at.trash {
			items = append(items, state.Trashed{Folder: trashFolder + entryKey(key, each.Run.seq(1)), Workflow: key.Workflow, Run: key.Run, Moved: each.Moved})
		}
		return err
	})
	slices.SortFunc(items, func(a, b state.Trashed) int { return strings.Compare(b.Moved+b.Folder, a.Moved+a.Folder) })
	return items, err
}

// GCTrash implements state.Maintenance. From then on nothing can bring the run back. The
// documents go later: see FinishMoves.
func (s *Store) GCTrash(ctx context.Context, item state.Trashed) error {
	key := state.Key{Workflow: item.Workflow, Run: item.Run}
	number, ours := strings.CutPrefix(item.Folder, trashFolder+key.String()+"@")
	first, err := strconv.Atoi(number)
	if !ours || err != nil {
		return fault.New(fault.InvalidParams, "%q was not deleted", fault.Cut(item.Folder, 300))
	}
	err = s.change(ctx, key, func(at tail) (view, error) {
		left := slices.DeleteFunc(slices.Clone(at.trash), func(each deleted) bool { return each.Run.seq(1) == first })
		if len(left) == len(at.trash) {
			return view{}, errErased
		}
		return view{Run: at.spans, Trash: left}, nil
	})
	if errors.Is(err, errErased) {
		return nil
	}
	return err
}

var errErased = errors.New("it is gone already")
