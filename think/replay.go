package think

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// refresh brings a held run up to its journal.
func (e *Engine) refresh(ctx context.Context, l *live) error {
	if l.run != nil {
		version, hash, err := e.Store.Head(ctx, l.key)
		if err != nil {
			l.forget()
			return err
		}
		if l.version == version && l.hash == hash {
			return nil
		}
		if l.version < version && e.follow(ctx, l) == nil {
			return nil
		}
	}
	var parsing sync.WaitGroup
	parsing.Go(func() {
		defer func() { _ = recover() }()          // a panic is for a request that needs the file, where it ends nothing else
		_, _ = e.Library.Find(l.key.Workflow, "") // mostly it is what the run pins; else nothing is lost
	})
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	parsing.Wait()
	if err != nil {
		l.forget()
		return err
	}
	return e.rebuild(ctx, l, records)
}

// follow applies the records that another process has added to a run in
// memory. After an error the run is in no state: it must be rebuilt.
func (e *Engine) follow(ctx context.Context, l *live) error {
	records, err := e.Store.Records(ctx, l.key, l.version, 0)
	if err != nil {
		return err
	}
	if len(records) == 0 || records[0].Prev != l.hash {
		return fault.New(fault.StateConflict, "run %s has another history now", l.key)
	}
	for _, record := range records {
		if record.Kind == kindReset {
			return fault.New(fault.StateConflict, "run %s was reset", l.key)
		}
		if err := e.apply(ctx, l.run, record); err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339Nano, record.Time); err == nil {
			l.note(record.Version, at)
		}
	}
	last := records[len(records)-1]
	if l.run.Hash() != last.State {
		return fault.New(fault.StateCorrupt, "run %s: record %d does not follow from the records before it", l.key, last.Version)
	}
	l.version, l.hash = last.Version, last.Hash
	return nil
}

func (e *Engine) rebuild(ctx context.Context, l *live, records []state.Record) error {
	l.forget()
	replayed, err := e.replayFrom(ctx, l.key, records, 0, e.reading(l.key))
	if err != nil {
		return err
	}
	l.run, l.pins, l.times = replayed.run, replayed.pins, replayed.times
	last := records[len(records)-1]
	l.version, l.hash = last.Version, last.Hash
	return nil
}

// replayed is a run made again from its records.
type replayed struct {
	run   *flow.Run
	pins  map[string]pin
	plan  planData
	times map[int]time.Time
}

// replay makes a run again from its records up to a version (0: all of them)
// and holds it against the hash that was recorded: STATE_CORRUPT when it
// differs.
func (e *Engine) replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (*replayed, error) {
	return e.replayFrom(ctx, key, records, upTo, func(_ context.Context, version int) (state.Record, error) { return records[version-1], nil })
}

// reader returns the record of a version, when a value of it is needed.
type reader func(ctx context.Context, version int) (state.Record, error)

// reading reads records of a run from the store, so that a long run does not
// hold all its results in memory.
func (e *Engine) reading(key state.Key) reader {
	return func(ctx context.Context, version int) (state.Record, error) {
		records, err := e.Store.Records(ctx, key, version-1, 1)
		if err == nil && len(records) == 0 {
			err = fault.New(fault.StateCorrupt, "run %s: record %d is gone", key, version)
		}
		if err != nil {
			return state.Record{}, err
		}
		return records[0], nil
	}
}

func (e *Engine) replayFrom(ctx context.Context, key state.Key, records []state.Record, upTo int, read reader) (*replayed, error) {
	out, err := e.replayRecords(ctx, key, records, upTo, read)
	if err != nil {
		return nil, ofRun(key, err)
	}
	return out, nil
}

// ofRun names the run that is damaged, where what was found names a record alone.
func ofRun(key state.Key, err error) error {
	said := fault.From(err)
	if said.Code != fault.StateCorrupt || strings.Contains(said.Details, key.String()) {
		return err
	}
	named := *said
	named.Details = "run " + key.String() + ": " + said.Details
	return &named
}

func (e *Engine) replayRecords(ctx context.Context, key state.Key, records []state.Record, upTo int, read reader) (*replayed, error) {
	if len(records) == 0 || records[0].Kind != kindPlan {
		return nil, fault.New(fault.StateCorrupt, "run %s: record 1 is not a plan", key)
	}
	if upTo <= 0 || upTo > len(records) {
		upTo = len(records)
	}
	var plan planData
	if err := decodeData(records[0], &plan); err != nil {
		return nil, err
	}
	graph, err := e.pinned(ctx, plan)
	if err != nil {
		return nil, err
	}
	out := &replayed{run: graph.Start(key.Run, plan.Params), pins: plan.Pins, plan: plan, times: map[int]time.Time{}}
	line, err := effective(records[:upTo])
	if err != nil {
		return nil, err
	}
	for i, record := range line {
		if at, err := time.Parse(time.RFC3339Nano, record.Time); err == nil {
			out.times[record.Version] = at
		}
		if record.Kind == kindPlan {
			continue
		}
		resumed, err := false, error(nil)
		if i < len(line)-1 {
			resumed, err = e.resume(out.run, record, read)
		}
		if err == nil && !resumed {
			err = e.apply(ctx, out.run, record)
		}
		if err != nil {
			return nil, err
		}
	}
	out.handOutAgain(records[:upTo])
	out.times = needed(out.times, out.run)
	out.run.SkipTo(upTo)
	if err := out.run.Lost(); err != nil {
		return nil, err
	}
	if got, want := out.run.Hash(), records[upTo-1].State; got != want {
		return nil, fault.New(fault.StateCorrupt, "run %s: record %d does not follow from the records before it (state %.12s, recorded %.12s)", key, upTo, got, want)
	}
	return out, nil
}

// handOutAgain makes a reset the time at which all that is outstanding since
// before it was handed out, also where the clock was set back meanwhile.
func (r *replayed) handOutAgain(records []state.Record) {
	for _, record := range slices.Backward(records) {
		if record.Kind != kindReset {
			continue
		}
		reset, err := time.Parse(time.RFC3339Nano, record.Time)
		for version := range r.times {
			if err == nil && version <= record.Version {
				r.times[version] = reset
			}
		}
		return
	}
}

// effective returns the records that make the state after the last one: a
// reset takes the place of all that came after the version it names.
func effective(records []state.Record) ([]state.Record, error) {
	var line []state.Record
	for at := len(records); at > 0; {
		record := records[at-1]
		if record.Kind != kindReset {
			line = append(line, record)
			at--
			continue
		}
		var data resetData
		if err := decodeData(record, &data); err != nil {
			return nil, err
		}
		if data.To < 1 || data.To >= record.Version {
			return nil, fault.New(fault.StateCorrupt, "record %d resets to version %d", record.Version, data.To)
		}
		at = data.To
	}
	slices.Reverse(line)
	return line, nil
}

// apply applies a record as it was applied at first: checks, templates and all.
func (e *Engine) apply(ctx context.Context, run *flow.Run, record state.Record) error {
	answer, err := e.answerOf(ctx, record)
	if err != nil {
		return err
	}
	run.SkipTo(record.Version - 1)
	if _, err = run.Settle(answer); err != nil {
		return fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: %s", record.Version, fault.From(err).Details)
	}
	return run.Lost()
}

// resume applies a record that settled its step as done without reading its
// result; false means that the record has to be applied in full.
func (e *Engine) resume(run *flow.Run, record state.Record, read reader) (bool, error) {
	head, ok := headOf(record.Data)
	if !ok || head.Value == "" {
		return false, nil
	}
	if head.Value == sameDigest {
		head.Value = head.Digest
	}
	switch {
	case head.Person:
		head.Witness = flow.WitnessPerson
	case head.Witness == "":
		head.Witness = flow.WitnessSelf
	}
	run.SkipTo(record.Version - 1)
	err := run.Resume(flow.Recorded{Step: head.Step, Digest: head.Digest, Value: head.Value, Size: head.Size, Witness: head.Witness, Late: head.Late,
		Answer: e.answering(record.Version, read)})
	if err != nil {
		return false, fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: %s", record.Version, fault.From(err).Details)
	}
	return true, nil
}

// answering returns what reads the answer of a version back. It may be called
// long after the request has ended, and must not keep that in memory.
func (e *Engine) answering(version int, read reader) func() (flow.Answer, error) {
	return func() (flow.Answer, error) {
		ctx := context.Background()
		record, err := read(ctx, version)
		if err != nil {
			return flow.Answer{}, err
		}
		return e.answerOf(ctx, record)
	}
}

// answerOf reads an answer back from its record.
func (e *Engine) answerOf(ctx context.Context, record state.Record) (flow.Answer, error) {
	var data resultData
	if err := decodeData(record, &data); err != nil {
		return flow.Answer{}, err
	}
	raw, err := e.resultOf(ctx, data)
	if err != nil {
		return flow.Answer{}, err
	}
	value, err := jsonvalue.DecodeStored(raw)
	if err != nil {
		return flow.Answer{}, fault.New(fault.StateCorrupt, "record %d holds a result that is not JSON", record.Version)
	}
	return flow.Answer{Step: data.Step, Attempt: data.Attempt, Result: value, Digest: data.Digest,
		Person: data.Person, Shown: data.Shown, Witness: data.Witness, Late: data.Late}, nil
}

func (e *Engine) resultOf(ctx context.Context, data resultData) (json.RawMessage, error) {
	if data.ResultRef == "" {
		return data.Result, nil
	}
	return e.Store.Artifact(ctx, data.ResultRef)
}
