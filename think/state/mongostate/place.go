package mongostate

import (
	"context"
	"encoding/json"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/mongo"
	"savant/think/state"
)

// maxAge is how long a cached place is valid. It is far below the age at which a log is
// removed, so that nobody appends to a removed log.
const maxAge = time.Hour

// remembered returns the place of a run as this process saw it last.
func (s *Store) remembered(key state.Key) (tail, bool) {
	at, known := s.places.Get(key)
	return at, known && time.Since(at.read) < maxAge
}

// remember keeps a place, unless a later one is known.
func (s *Store) remember(key state.Key, at tail) {
	if known, ok := s.remembered(key); ok && known.seq > at.seq {
		return
	}
	at.read = time.Now()
	s.places.Add(key, at)
}

// live returns the place of a run that there is. UNKNOWN_RUN.
func (s *Store) live(ctx context.Context, key state.Key) (tail, error) {
	if err := key.Validate(); err != nil {
		return tail{}, err
	}
	return s.liveFrom(ctx, key, 0)
}

// liveFrom is live for a caller that has seen the record of a version.
func (s *Store) liveFrom(ctx context.Context, key state.Key, version int) (tail, error) {
	_, seen := s.remembered(key)
	at, err := s.locateFrom(ctx, key, version)
	if err == nil && !seen && version <= 1 { // who has seen a later record only follows the log
		if _, err = s.lost(ctx, key, at); err != nil {
			s.places.Remove(key) // the next look compares, too
		}
	}
	if err == nil && at.version() == 0 {
		return tail{}, unknownRun(key)
	}
	return at, err
}

// locate looks up where a run stands. What was seen before makes it one look.
func (s *Store) locate(ctx context.Context, key state.Key) (tail, error) {
	return s.locateFrom(ctx, key, 0)
}

// locateFrom is locate for a caller that has seen the record of a version. In most runs it
// is in the entry of that number, which spares the looks at earlier ones.
func (s *Store) locateFrom(ctx context.Context, key state.Key, version int) (tail, error) {
	at, known := s.remembered(key)
	if !known {
		at = tail{}
	}
	if version > at.seq+1 {
		seen, there, err := s.find(ctx, key, version)
		if err != nil {
			return tail{}, err
		}
		if there {
			return s.locateAfter(ctx, key, at, seen)
		}
	}
	next, there, err := s.find(ctx, key, at.seq+1)
	if err != nil {
		return tail{}, err
	}
	if !there && at.seq == 0 {
		next, there, err = s.beyondErased(ctx, key)
	}
	if err != nil {
		return tail{}, err
	}
	if there {
		return s.locateAfter(ctx, key, at, next)
	}
	s.remember(key, at)
	return at, nil
}

// locateAfter is locate from an entry that is known, after an earlier place.
func (s *Store) locateAfter(ctx context.Context, key state.Key, before tail, known entry) (tail, error) {
	last, err := s.end(ctx, key, known)
	if err != nil {
		return tail{}, err
	}
	at, err := s.tailOf(ctx, key, last)
	if err == nil {
		if at.from == before.from { // the same first record
			at.created = before.created
		}
		s.remember(key, at)
	}
	return at, err
}

// hinted is the hint document of a run: an earlier place in its log. It only speeds
// listings up; nothing depends on it.
type hinted struct {
	Seq     int    `json:"seq"`
	From    int    `json:"from,omitempty"`
	Version int    `json:"version"`
	Status  string `json:"status,omitempty"`
	Created string `json:"created,omitempty"`
	Updated string `json:"updated,omitempty"`
	Deleted int    `json:"deleted,omitempty"` // how many are in the trash
}

// hintEvery is after how many records the hint is written anew.
const hintEvery = 32

// announce makes a run and its workflow known, before its first record.
func (s *Store) announce(ctx context.Context, key state.Key) error {
	err := s.writeHint(ctx, key, hinted{})
	if err == nil && !s.known.Contains(key.Workflow) {
		if _, err = s.workflows.Insert(ctx, mongo.Document{Key: key.Workflow}); err == nil {
			s.known.Add(key.Workflow, true)
		}
	}
	return s.notSaved(ctx, "run "+key.String()+" was not saved", err)
}

// hint stores the place of a run if a listing would otherwise read many entries. If it
// fails, listings are slower.
func (s *Store) hint(ctx context.Context, key state.Key, before, at tail) {
	if at.version() == 1 || at.status != before.status || at.seq%hintEvery == 0 {
		_ = s.writeHint(ctx, key, at.hinted())
	}
}

func (p tail) hinted() hinted {
	return hinted{Seq: p.seq, From: p.from, Version: p.version(), Status: p.status, Created: p.created, Updated: p.updated, Deleted: len(p.trash)}
}

func (s *Store) writeHint(ctx context.Context, key state.Key, at hinted) error {
	text, err := jsonvalue.Encode(at)
	if err != nil {
		return err
	}
	return s.runs.Replace(ctx, mongo.Document{Key: key.String(), Body: text})
}

// readHint reads the document of a run.
func readHint(document mongo.Document) (at hinted) {
	if json.Unmarshal(document.Body, &at) != nil {
		return hinted{}
	}
	return at
}

// change writes a view entry. Its callback computes the view, or an error, from the
// run's place; it is called again if another process wrote first.
func (s *Store) change(ctx context.Context, key state.Key, change func(tail) (view, error)) error {
	if err := key.Validate(); err != nil {
		return err
	}
	for {
		at, err := s.locate(ctx, key)
		if err != nil {
			return err
		}
		wanted, err := change(at)
		if err != nil {
			return err
		}
		text, err := jsonvalue.Encode(wanted)
		if err != nil {
			return fault.New(fault.Internal, "encoding the state of run %s: %w", key, err)
		}
		next := entry{seq: at.seq + 1, meta: meta{Op: isView}, body: text}
		won, err := s.insert(ctx, key, next)
		if err != nil {
			s.places.Remove(key)
			return err
		}
		if !won {
			continue
		}
		now, err := s.tailOf(ctx, key, next)
		if err != nil {
			return err
		}
		s.stand(ctx, key, now, text)
		s.remember(key, now)
		if now, err = s.withCreated(ctx, key, now); err == nil {
			_ = s.writeHint(ctx, key, now.hinted())
		}
		return nil
	}
}

// withCreated completes a place with the time of the first record.
func (s *Store) withCreated(ctx context.Context, key state.Key, at tail) (tail, error) {
	if at.created != "" || at.version() == 0 {
		return at, nil
	}
	first, there, err := s.find(ctx, key, at.spans.seq(1))
	if err != nil || !there {
		return at, missing(entryKey(key, at.spans.seq(1)), err)
	}
	at.created = state.ReadHead(first.body).Time
	return at, nil
}
