// Package mongostate stores runs in MongoDB, where several machines share them. It
// passes the suite of statetest.
//
// A run is a log of immutable entries: WORKFLOW/RUN@000001, 000002, and so on. An
// append inserts the next number, and of concurrent inserts one wins; no other
// guarantee of the database is needed. Most entries are records, with the same line as
// in a folder's journal. Others redefine which entries form the run, for example after
// a deletion: see view.
package mongostate

import (
	"context"
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"savant/fault"
	"savant/internal/mongo"
	"savant/think/state"
)

// maxPlaces bounds the runs whose place is remembered. Others are looked up.
const maxPlaces = 10_000

// Store is the runs of one database.
type Store struct {
	options Options

	// records has the entries of runs, runs a hint for each, heads the last entry of
	// each in a second place, and workflows a document for each name of a workflow.
	records, runs, workflows *mongo.Collection
	heads                    *mongo.Collection
	projections, checkpoints *mongo.Collection
	artifacts, damaged       *mongo.Collection
	receipts, imported       *mongo.Collection
	announced                *mongo.Collection // calls that clients' hooks were asked about

	places *lru.Cache[state.Key, tail]
	known  *lru.Cache[string, bool] // workflows that have their document
}

var _ state.Backend = (*Store)(nil)

// Options of Open; the zero value is right for a program.
type Options struct {
	// Now is the clock that stamps records; time.Now when nil.
	Now func() time.Time
}

// Open returns the runs of a database. It sends nothing.
func Open(database *mongo.Database, options Options) (*Store, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	places, err := lru.New[state.Key, tail](maxPlaces)
	if err != nil {
		return nil, err
	}
	known, err := lru.New[string, bool](maxPlaces)
	if err != nil {
		return nil, err
	}
	return &Store{options: options, places: places, known: known,
		records: database.Collection("state_records"), runs: database.Collection("state_runs"), workflows: database.Collection("state_workflows"),
		heads:       database.Collection("state_heads"),
		projections: database.Collection("state_projections"), checkpoints: database.Collection("state_checkpoints"),
		artifacts: database.Collection("artifacts"), damaged: database.Collection("artifacts_damaged"),
		receipts: database.Collection("receipts"), imported: database.Collection("state_imported"),
		announced: database.Collection("hook_calls")}, nil
}

// Close implements state.Backend. Whoever opened the database closes it.
func (s *Store) Close() error { return nil }

// Append implements state.Journal.
func (s *Store) Append(ctx context.Context, key state.Key, record state.Record) (state.Record, error) {
	if err := key.Validate(); err != nil {
		return state.Record{}, err
	}
	at, known := s.remembered(key)
	for fresh := false; ; fresh = true {
		if fresh || !known {
			found, err := s.locate(ctx, key)
			if err != nil {
				return state.Record{}, err
			}
			at, known, fresh = found, true, true
		}
		sealed, line, err := at.seal(key, record, s.options.Now())
		if err != nil && !fresh {
			continue // retry after another process's record
		}
		if err != nil {
			return state.Record{}, err
		}
		next, won, err := s.write(ctx, key, at, sealed, line)
		if err != nil {
			s.places.Remove(key) // unknown whether it was written
			return state.Record{}, err
		}
		if won {
			s.stand(ctx, key, next, line)
			s.remember(key, next)
			s.hint(ctx, key, at, next)
			return sealed, nil
		}
	}
}

// seal completes a record as the next one of a run.
func (p tail) seal(key state.Key, record state.Record, now time.Time) (sealed state.Record, line []byte, err error) {
	version := p.version()
	switch {
	case version == 0 && record.Version != 1:
		return sealed, nil, unknownRun(key)
	case version > 0 && record.Version == 1:
		if _, _, err := state.Seal(key, state.Link{}, record, now); err != nil {
			return sealed, nil, err
		}
		return sealed, nil, fault.New(fault.StateConflict, "run %q of workflow %q exists, at version v%d", key.Run, key.Workflow, version)
	}
	return state.Seal(key, p.link(), record, now)
}

// write inserts a record after a place, and reports whether it won.
func (s *Store) write(ctx context.Context, key state.Key, at tail, sealed state.Record, line []byte) (next tail, won bool, err error) {
	if sealed.Version == 1 {
		if err := s.announce(ctx, key); err != nil {
			return tail{}, false, err
		}
	}
	won, err = s.insert(ctx, key, entry{seq: at.seq + 1, meta: meta{From: at.from}, body: line})
	return at.after(sealed), won, err
}

func (s *Store) insert(ctx context.Context, key state.Key, e entry) (won bool, err error) {
	document, err := e.document(key)
	if err != nil {
		return false, err
	}
	document.Time = s.options.Now()
	won, err = s.records.Insert(ctx, document)
	return won, s.notSaved(ctx, "run "+key.String()+" was not saved", err)
}

// Head implements state.Journal.
func (s *Store) Head(ctx context.Context, key state.Key) (version int, hash string, err error) {
	at, err := s.live(ctx, key)
	return at.version(), at.hash, err
}

// Records implements state.Journal.
func (s *Store) Records(ctx context.Context, key state.Key, after, limit int) ([]state.Record, error) {
	if err := key.Validate(); err != nil {
		return nil, err
	}
	at, err := s.liveFrom(ctx, key, after+1)
	if err != nil {
		return nil, err
	}
	last := at.version()
	after = min(max(after, 0), last)
	if limit > 0 && limit < last-after {
		last = after + limit
	}
	if after == last {
		return []state.Record{}, nil
	}
	return s.chain(ctx, key, at.spans, after, last)
}

// chain returns the records after a version up to another, verified. The one before
// the first is read too, since the first has to follow it.
func (s *Store) chain(ctx context.Context, key state.Key, of spans, after, last int) ([]state.Record, error) {
	first := max(after, 1)
	var keys []string
	for version := first; version <= last; version++ {
		keys = append(keys, entryKey(key, of.seq(version)))
	}
	documents, err := s.records.FindAll(ctx, keys)
	if err != nil {
		return nil, s.notRead(ctx, key.String(), err)
	}
	link := state.Link{Version: first - 1}
	if after > 0 {
		link = state.Link{Version: after, Hash: state.ReadHead(documents[0].Body).Hash}
		documents, keys = documents[1:], keys[1:]
	}
	records := make([]state.Record, 0, len(documents))
	for i, document := range documents {
		if document.Key == "" {
			return records, fault.New(fault.StateCorrupt, "%s: record %d is missing", keys[i], link.Version+1)
		}
		record, err := state.ReadLine(keys[i], key, link, document.Body)
		if err != nil {
			return records, err
		}
		records = append(records, record)
		link = state.Link{Version: record.Version, Hash: record.Hash}
	}
	return records, nil
}

func unknownRun(key state.Key) error {
	return fault.New(fault.UnknownRun, "workflow %q has no run %q", key.Workflow, key.Run)
}

// notSaved is STATE_NOT_SAVED with the host and the cause.
func (s *Store) notSaved(ctx context.Context, what string, err error) error {
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.Internal, "%s: %w", what, context.Cause(ctx))
	}
	return mongo.Coded(fault.StateNotSaved, what, err)
}

// notRead is the counterpart for reads: the run is unchanged, and continues when the
// database is back. A document with a missing part is damaged.
func (s *Store) notRead(ctx context.Context, what string, err error) error {
	if errors.Is(err, mongo.ErrPartMissing) {
		return fault.New(fault.StateCorrupt, "%s: %w", what, err)
	}
	return s.notSaved(ctx, what+" cannot be read", err)
}
