package think

import (
	"context"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// This file is what the packages that audit and maintain runs build on.

// Effective returns the records that make the state after the last one: a reset
// takes the place of all that came after the version it names. STATE_CORRUPT.
func Effective(records []state.Record) ([]state.Record, error) { return effective(records) }

// Replay makes a run again from its records up to a version (0: all of them)
// and holds it against the recorded hash: STATE_CORRUPT when it differs.
func (e *Engine) Replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (flow.Outcome, error) {
	replayed, err := e.replay(ctx, key, records, upTo)
	if err != nil {
		return flow.Outcome{}, err
	}
	return replayed.now, nil
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
