package mongostate

import (
	"context"
	"encoding/json"
	"errors"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/think/state"
)

// Adopt implements state.Maintenance. It writes the records as staged, invisible ones; one
// further entry then makes all of them the run atomically.
func (s *Store) Adopt(ctx context.Context, key state.Key, records []state.Record) error {
	lines, last, err := state.Lines(key, records)
	if err != nil {
		return err
	}
	if err := s.announce(ctx, key); err != nil {
		return err
	}
	for {
		at, err := s.locate(ctx, key)
		if err != nil {
			return err
		}
		if at.version() == last.Version && at.hash == last.Hash {
			return nil
		}
		if version := at.version(); version > 0 {
			return fault.New(fault.StateConflict, "run %q of workflow %q exists, at version v%d", key.Run, key.Workflow, version)
		}
		won, err := s.stage(ctx, key, at, lines, last)
		if err != nil || won {
			return err
		}
	}
}

// stage writes records after a place and makes them the run. It returns false if
// another process wrote in between.
func (s *Store) stage(ctx context.Context, key state.Key, at tail, lines [][]byte, last state.Link) (won bool, err error) {
	seq := at.seq
	for _, line := range lines {
		seq++
		if won, err := s.insert(ctx, key, entry{seq: seq, meta: meta{Op: isStaged, From: at.seq}, body: line}); err != nil || !won {
			s.places.Remove(key)
			return false, err
		}
	}
	if err := s.MarkImported(ctx, key, last); err != nil {
		return false, err
	}
	staged := errors.New("somebody else wrote in between")
	err = s.change(ctx, key, func(now tail) (view, error) {
		if now.seq != seq {
			return view{}, staged
		}
		return view{Run: spans{{at.seq + 1, len(lines)}}, Trash: at.trash}, nil
	})
	if errors.Is(err, staged) {
		return false, nil
	}
	return err == nil, err
}

// MarkImported implements state.Maintenance.
func (s *Store) MarkImported(ctx context.Context, key state.Key, last state.Link) error {
	if err := key.Validate(); err != nil {
		return err
	}
	data, err := jsonvalue.Encode(last)
	if err != nil {
		return fault.New(fault.Internal, "encoding the note of an import: %w", err)
	}
	return s.notSaved(ctx, "the note of the import of "+key.String()+" was not saved",
		s.imported.Replace(ctx, mongo.Document{Key: key.String(), Body: data}))
}

// Imported implements state.Maintenance.
func (s *Store) Imported(ctx context.Context, key state.Key) (version int, err error) {
	if err := key.Validate(); err != nil {
		return 0, err
	}
	document, there, err := s.imported.Find(ctx, key.String())
	if err != nil || !there {
		return 0, s.notRead(ctx, "the note of the import of "+key.String(), err)
	}
	var last state.Link
	if json.Unmarshal(document.Body, &last) != nil || last.Version < 1 {
		return 0, fault.New(fault.StateCorrupt, "the document state_imported %s is not a note of an import", key)
	}
	return state.StillThere(ctx, s, key, last)
}
