package mongostate

import (
	"context"
	"errors"

	"savant/fault"
	"savant/think/state"
)

// Check implements state.Maintenance. A problem's file is the key of a document.
func (s *Store) Check(ctx context.Context, key state.Key) ([]state.Problem, error) {
	problems := []state.Problem{}
	at, err := s.live(ctx, key)
	if err == nil {
		_, err = s.chain(ctx, key, at.spans, 0, at.version())
	}
	if errors.Is(err, fault.StateCorrupt) {
		return append(problems, state.Problem{File: key.String(), Message: fault.From(err).Message(), Blocking: true}), nil
	}
	if err != nil {
		return nil, err
	}
	documents, err := s.allCheckpoints(ctx, key, at)
	if err != nil {
		return nil, err
	}
	if projection, there, err := s.projections.Find(ctx, at.life(key)); err != nil {
		return nil, s.notRead(ctx, "the snapshot of "+key.String(), err)
	} else if there {
		documents[""] = projection
	}
	for _, document := range documents {
		_, err := s.verified(ctx, key, at, document)
		if errors.Is(err, fault.StateCorrupt) {
			problems = append(problems, state.Problem{File: document.Key, Message: fault.From(err).Message()})
		} else if err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// Repair implements state.Maintenance. It deletes nothing: it writes an entry that says
// where the run ends, and the later records stay in the log.
func (s *Store) Repair(ctx context.Context, key state.Key, upTo int) (state.Repaired, error) {
	var result state.Repaired
	intact := errors.New("nothing is damaged")
	err := s.change(ctx, key, func(at tail) (view, error) {
		version := at.version()
		if version == 0 {
			return view{}, unknownRun(key)
		}
		records, err := s.chain(ctx, key, at.spans, 0, version)
		if errors.Is(err, state.ErrNewerFormat) || err != nil && !errors.Is(err, fault.StateCorrupt) {
			return view{}, err
		}
		good := len(records)
		if upTo > 0 {
			good = min(good, upTo)
		}
		cut, lost := s.lost(ctx, key, at)
		if lost != nil && !errors.Is(lost, fault.StateCorrupt) {
			return view{}, lost
		}
		if result.Version = good; good == version && lost == nil {
			return view{}, intact
		}
		result.Lost, err = s.beyond(ctx, key, at, good)
		for beyond := range cut {
			result.Lost = append(result.Lost, state.Record{Version: version + beyond + 1})
		}
		return view{Run: at.spans.upTo(good), Trash: at.trash}, err
	})
	if errors.Is(err, intact) {
		return result, nil
	}
	if err == nil {
		result.Kept = "state_records/" + key.String()
	}
	return result, err
}

// beyond returns the records after a version, as far as they can be read.
func (s *Store) beyond(ctx context.Context, key state.Key, at tail, version int) ([]state.Record, error) {
	var lost []state.Record
	for version++; version <= at.version(); version++ {
		found, _, err := s.find(ctx, key, at.spans.seq(version))
		if err != nil && !errors.Is(err, fault.StateCorrupt) {
			return nil, err
		}
		record := state.ReadHead(found.body)
		record.Version = version
		lost = append(lost, record)
	}
	return lost, nil
}
