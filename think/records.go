package think

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"savant/fault"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/state"
)

// This file has the functions that audit, maintenance and the gate build on.

// View is a read-only run, at its latest or an earlier version.
type View struct {
	flow.View
	engine *Engine
	past   history
	run    *flow.Run
	now    flow.Outcome
}

// View calls look with a run at a version, 0 for the latest: CHECKPOINT_NOT_FOUND for
// an unknown version; UNKNOWN_RUN, STATE_CORRUPT. The run is locked until look returns,
// and must not be used afterwards.
func (e *Engine) View(ctx context.Context, key state.Key, version int, look func(*View) error) error {
	l, err := e.open(ctx, key.Workflow, key.Run)
	if err != nil {
		return err
	}
	if version <= 0 || version == l.version {
		defer l.mu.Unlock()
		return look(&View{l.run.View(), e, l.history(), l.run, l.now})
	}
	latest := l.version
	l.mu.Unlock()
	if version > latest {
		return fault.New(fault.CheckpointNotFound, "run %q has no version v%d: the last is v%d", key.Run, version, latest)
	}
	records, err := e.Store.Records(ctx, l.key, 0, version)
	if err != nil {
		return err
	}
	replay, err := e.Replay(ctx, l.key, records, 0)
	if err != nil {
		return err
	}
	return look(&replay.View)
}

// Replay is a run made again from its records.
type Replay struct {
	View
	plan planData
	// usages are those of approvals in the first counted records.
	usages  map[int]usage
	counted int
}

// Replay recomputes a run from its records up to a version (0: all) and compares the
// state hash: STATE_CORRUPT if it differs.
func (e *Engine) Replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (*Replay, error) {
	out, err := e.replay(ctx, key, records, upTo)
	if err != nil {
		return nil, err
	}
	return &Replay{View: View{out.run.View(), e, history{key, records}, out.run, out.now}, plan: out.plan}, nil
}

// Restart replays a run up to its plan, under another graph unless it is nil:
// INVALID_PARAMS if the parameters do not fit that graph.
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
	run, now := graph.Start(key.Run, plan.Params, plan.Terms)
	return &Replay{View: View{run.View(), e, history{key, records}, run, now}, plan: plan}, nil
}

// Now is the present state of the run.
func (v *View) Now() flow.Outcome { return v.now }

// File is the file of the run's workflow.
func (r *Replay) File() string { return r.plan.Pins[r.plan.Workflow].File }

// Decoded is a record with its data.
type Decoded = decoded[resultData]

// Decode decodes records in their order, while the first of them are used.
func Decode(records []state.Record) iter.Seq2[int, Decoded] { return decodeAhead[resultData](records) }

// Apply gives the next recorded answer to the run: STATE_CORRUPT where it does
// not follow from the records before it.
func (r *Replay) Apply(ctx context.Context, record Decoded) (err error) {
	if isAside(record.Record) {
		if record.Kind != KindRefused {
			if err := r.used(ctx, record.Record); err != nil {
				return err
			}
		}
		r.run.SkipTo(record.Version)
		r.now.Version = record.Version
		return nil
	}
	data := &record.data.answerData
	if record.err != nil {
		data = nil // its reply may be what cannot be read
	}
	r.now, err = r.engine.apply(ctx, r.past, r.run, record.Record, data)
	return err
}

// Give gives the next recorded answer to the run, which may refuse it.
func (r *Replay) Give(ctx context.Context, record state.Record) (refused, err error) {
	r.now, refused, err = r.engine.give(ctx, r.past, r.run, record, nil)
	return refused, err
}

// Compare compares the run with its current record; nil means that they agree.
func (r *Replay) Compare(ctx context.Context, record Decoded) (*Difference, error) {
	return r.engine.compare(ctx, r.now, record)
}

// Capture returns the JSON of a capture, or nil.
func (v *View) Capture(ctx context.Context, name string) (json.RawMessage, error) {
	return v.engine.capture(ctx, v.past, v.run, name)
}

// Snapshot returns the state of the run, captures up to a length in bytes.
func (v *View) Snapshot(ctx context.Context, longest int) (flow.Snapshot, error) {
	return v.engine.snapshot(ctx, v.past, v.run, longest)
}

// Instructions are the outstanding instructions, in the form of a reply.
func (v *View) Instructions() []Instruction {
	var out []Instruction
	for _, next := range v.now.Instructions {
		out = append(out, wire(next))
	}
	return out
}

// Explain explains the status of a step.
func (v *View) Explain(ctx context.Context, step flow.Handle) (*flow.Explanation, error) {
	return v.engine.explain(ctx, v.past, v.run, step)
}

// Vars returns the captures by name, those of more than longest bytes as flow.Long.
func (v *View) Vars(longest int) iter.Seq2[string, any] {
	return v.View.Vars(min(longest, flow.Inline))
}

// Answer returns the answer that made a version, as it was handed in: STATE_CORRUPT.
func (v *View) Answer(ctx context.Context, version int) (json.RawMessage, error) {
	record, err := v.engine.record(ctx, v.past, version)
	if err != nil {
		return nil, err
	}
	given, err := v.engine.recorded(ctx, record, nil)
	return given.raw, err
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
	history, err := e.replay(ctx, key, records, version)
	if err != nil {
		return err
	}
	l := &live{key: key}
	l.takeOver(history, records[:version])
	snapshot, err := e.snapshotOf(ctx, l)
	if err != nil {
		return err
	}
	return e.Store.Save(ctx, key, name, snapshot)
}

// Standing returns what the gate knows of a run after its records, all of them from the
// first, without a replay: STATE_CORRUPT.
func Standing(key state.Key, records []state.Record) (gate.Run, error) {
	run := gate.Run{Workflow: key.Workflow, ID: key.Run}
	line, err := Effective(records)
	if err != nil {
		return run, err
	}
	for _, record := range line {
		if err := stand(&run, record); err != nil {
			return run, err
		}
	}
	for _, record := range slices.Backward(records) { // a reset has its own version and status
		if !isAside(record) {
			run.Progress, run.Status = record.Version, record.Status
			break
		}
	}
	return run, nil
}

// StandingAfter is Standing with the records after those of an earlier standing. ok is
// false where one of them is a reset: then Standing has to read them all.
func StandingAfter(run gate.Run, records []state.Record) (after gate.Run, ok bool, err error) {
	if slices.ContainsFunc(records, isReset) {
		return run, false, nil
	}
	for _, record := range records {
		if isAside(record) {
			continue
		}
		if err := stand(&run, record); err != nil {
			return run, true, err
		}
	}
	return run, true, nil
}

// stand moves a standing on by a record: the instructions it issued wait, too.
func stand(run *gate.Run, record state.Record) error {
	var data struct {
		Ruled bool `json:"ruled"`
		Reply struct {
			Reply struct {
				Instruction  *gate.Issued  `json:"instruction"`
				Instructions []gate.Issued `json:"instructions"`
				Outstanding  []string      `json:"outstanding"`
			} `json:"reply"`
		} `json:"reply"`
	}
	if err := decodeData(record, &data); err != nil {
		return err
	}
	reply := data.Reply.Reply
	var issued []gate.Issued
	for _, before := range run.Issued {
		if slices.Contains(reply.Outstanding, before.Step) {
			issued = append(issued, before)
		}
	}
	if reply.Instruction != nil {
		issued = append(issued, *reply.Instruction)
	}
	run.Issued = append(issued, reply.Instructions...)
	run.Ruled = run.Ruled || data.Ruled
	run.Progress, run.Status = record.Version, record.Status
	return nil
}
