package think

import (
	"context"
	"encoding/json"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// This file is what the packages that audit and maintain runs build on.

// Replay is a run made again from its records.
type Replay struct {
	replayed
	engine *Engine
	past   past
}

// Replay makes a run again from its records up to a version (0: all of them)
// and holds it against the recorded hash: STATE_CORRUPT when it differs.
func (e *Engine) Replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (*Replay, error) {
	out, err := e.replay(ctx, key, records, upTo)
	if err != nil {
		return nil, err
	}
	return &Replay{*out, e, past{key, records}}, nil
}

// Restart makes a run again up to its plan, under another graph unless that is
// nil: INVALID_PARAMS where the parameters do not fit that.
func (e *Engine) Restart(ctx context.Context, key state.Key, records []state.Record, graph *flow.Graph) (*Replay, error) {
	plan, err := planOf(records)
	if err != nil {
		return nil, err
	}
	if graph == nil {
		graph, err = e.pinned(ctx, plan)
	} else {
		plan.Params, err = graph.Workflow.Bind(plan.Params)
	}
	if err != nil {
		return nil, err
	}
	run, now := graph.StartWithin(key.Run, plan.Params, plan.Window)
	return &Replay{replayed{run, now, plan}, e, past{key, records}}, nil
}

// Now is where the run stands.
func (r *Replay) Now() flow.Outcome { return r.now }

// File is the file of the run's workflow, Params are its parameters.
func (r *Replay) File() string           { return r.plan.Pins[r.plan.Workflow].File }
func (r *Replay) Params() map[string]any { return r.plan.Params }

// Apply gives the next recorded answer to the run: STATE_CORRUPT where it does
// not follow from the records before it.
func (r *Replay) Apply(ctx context.Context, record state.Record) (err error) {
	if record.Kind == KindRefused {
		r.run.SkipTo(record.Version)
		r.now.Version = record.Version
		return nil
	}
	r.now, err = r.engine.apply(ctx, r.past, r.run, record)
	return err
}

// Give gives the next recorded answer to the run, which may refuse it.
func (r *Replay) Give(ctx context.Context, record state.Record) (refused, err error) {
	r.now, refused, err = r.engine.give(ctx, r.past, r.run, record)
	return refused, err
}

// Compare holds the run against the record it has come to, nil where they agree.
func (r *Replay) Compare(ctx context.Context, record state.Record) (*Difference, error) {
	return r.engine.compare(ctx, r.now, record)
}

// Capture returns the JSON of a capture, nil where there is none.
func (r *Replay) Capture(ctx context.Context, name string) (json.RawMessage, error) {
	return r.engine.capture(ctx, r.past, r.run, name)
}

// Snapshot returns the state of the run, captures up to a length in bytes.
func (r *Replay) Snapshot(ctx context.Context, longest int) (flow.Snapshot, error) {
	return r.engine.snapshot(ctx, r.past, r.run, longest)
}

// Instructions are what the run waits for, as a reply shows them.
func (r *Replay) Instructions() []Instruction {
	var out []Instruction
	for _, next := range r.now.Instructions {
		out = append(out, wire(next))
	}
	return out
}

// Alone does work on the files of a run while no request of this engine uses
// it. The run is read from disk again afterwards.
func (e *Engine) Alone(key state.Key, work func() error) error {
	l := e.hold(key)
	defer l.mu.Unlock()
	e.projects.drop(key)
	l.forget()
	return work()
}

// Project writes a run's readable file: UNKNOWN_RUN, STATE_CORRUPT.
func (e *Engine) Project(ctx context.Context, key state.Key) error {
	l, err := e.open(ctx, key.Workflow, key.Run)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	e.project(ctx, l, true)
	return nil
}

// CheckpointAt names a past version of a run: CHECKPOINT_NOT_FOUND.
func (e *Engine) CheckpointAt(ctx context.Context, key state.Key, name string, version int) error {
	records, err := e.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return err
	}
	if version < 1 || version > len(records) {
		return fault.New(fault.CheckpointNotFound, "run %q has no version v%d", key.Run, version)
	}
	past, err := e.replay(ctx, key, records, version)
	if err != nil {
		return err
	}
	l := &live{key: key}
	l.takeOver(past, records[:version])
	snapshot, err := e.snapshotOf(ctx, l)
	if err != nil {
		return err
	}
	return e.Store.Save(ctx, key, name, snapshot)
}
