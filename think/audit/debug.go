// Package audit examines the history of runs: it verifies a run against its records,
// shows and compares past states, and replays a run under another workflow.
package audit

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wI2L/jsondiff"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// Auditor examines the history of an engine's runs. It is safe for concurrent use.
type Auditor struct{ engine *think.Engine }

// New returns the auditor of an engine's runs.
func New(engine *think.Engine) *Auditor { return &Auditor{engine} }

// maxCapture is how long a capture may be in a state that is compared, in bytes.
const maxCapture = 4000

// DebugInput asks about the history of a run.
type DebugInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id" example:"r1"`
	Action   string `json:"action" enum:"replay,diff,step,fork"`
	FromStep string `json:"from_step,omitempty" doc:"a version (v3) or step id"`
	ToStep   string `json:"to_step,omitempty" doc:"for diff; default: now"`
	NewRunID string `json:"new_run_id,omitempty" doc:"for fork"`
	// Caller makes the call: a fork is its own.
	Caller think.Caller `json:"-"`
	Adopt  bool         `json:"adopt,omitempty" doc:"for fork: follow the file as it is now"`
}

// DebugOutput is the answer to one action.
type DebugOutput struct {
	Action string `json:"action"`
	// Verdict of a replay: "identical" or "differs".
	Verdict string `json:"verdict,omitempty"`
	// Log is the run's history up to the examined version.
	Log []think.Event `json:"log,omitempty"`
	// Imported is the version up to which the records were imported: their witnesses
	// and approvals were not verified here.
	Imported int `json:"imported,omitempty"`
	// Difference is the first record that the replay did not reproduce.
	Difference *think.Difference `json:"difference,omitempty"`
	// Patch is an RFC 6902 patch between two states.
	Patch json.RawMessage `json:"patch,omitempty"`
	From  int             `json:"from,omitempty"`
	To    int             `json:"to,omitempty"`
	// Snapshot is the state at a version, for step.
	Snapshot *flow.Snapshot      `json:"snapshot,omitempty"`
	Next     []think.Instruction `json:"next,omitempty"`
	// Reply is the first reply of the forked run.
	Reply *think.Reply `json:"reply,omitempty"`
}

// Debug replays a run, compares two of its states, shows one, or forks a new
// run from one: UNKNOWN_RUN, CHECKPOINT_NOT_FOUND, STATE_CORRUPT,
// INVALID_PARAMS for an unknown action.
func (a *Auditor) Debug(ctx context.Context, in DebugInput) (*DebugOutput, error) {
	key, err := a.engine.Locate(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	records, err := a.engine.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "replay":
		return a.verify(ctx, key, records)
	case "diff":
		return a.diff(ctx, key, records, in)
	case "step":
		return a.stepAt(ctx, key, records, in)
	case "fork":
		return a.fork(ctx, key, records, in)
	}
	return nil, fault.New(fault.InvalidParams, "unknown action %q: use replay, diff, step or fork", fault.Cut(in.Action, 60)).With(
		fault.Diagnostic{Path: "action", Message: "unknown action", Expected: "replay, diff, step or fork", Actual: fault.Cut(in.Action, 60)})
}

// verify replays a run and compares every state and reply with its records.
func (a *Auditor) verify(ctx context.Context, key state.Key, records []state.Record) (out *DebugOutput, err error) {
	out = &DebugOutput{Action: "replay", Verdict: verdictIdentical, To: len(records)}
	if out.Log, out.Imported, err = a.engine.Events(ctx, key, records); err != nil {
		return nil, err
	}
	if _, out.Difference, err = a.Verify(ctx, key, records); err != nil {
		return nil, err
	}
	if out.Difference != nil {
		out.Verdict = verdictDiffers
	}
	return out, nil
}

// Verify replays the records of a run, and returns the run as they leave it, or the first
// that does not follow from those before it.
func (a *Auditor) Verify(ctx context.Context, key state.Key, records []state.Record) (at *think.Replay, found *think.Difference, err error) {
	if at, err = a.engine.Replay(ctx, key, records, 1); err != nil {
		return nil, nil, err
	}
	for i, record := range think.Decode(records) {
		if i > 0 && record.Kind == think.KindReset {
			if at, err = a.engine.Replay(ctx, key, records, i+1); err != nil {
				return nil, nil, err
			}
		} else if i > 0 {
			if err = at.Apply(ctx, record); errors.Is(err, fault.StateCorrupt) {
				return nil, difference(record.Version, think.EventOf(record.Record).Step, record.State, fault.From(err).Message()), nil
			} else if err != nil {
				return nil, nil, err // what cannot be read says nothing about the run
			}
		}
		if found, err = at.Compare(ctx, record); found != nil || err != nil {
			return nil, found, err
		}
	}
	return at, nil, nil
}

func (a *Auditor) versionNamed(ctx context.Context, key state.Key, records []state.Record, name string, absent int) (int, error) {
	if name == "" {
		return absent, nil
	}
	return a.engine.VersionOf(ctx, key, records, name)
}

func (a *Auditor) diff(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	from, err := a.versionNamed(ctx, key, records, in.FromStep, max(1, len(records)-1))
	if err != nil {
		return nil, err
	}
	to, err := a.versionNamed(ctx, key, records, in.ToStep, len(records))
	if err != nil {
		return nil, err
	}
	var sides [2][]byte
	for i, version := range []int{from, to} {
		at, err := a.engine.Replay(ctx, key, records, version)
		if err != nil {
			return nil, err
		}
		snapshot, err := at.Snapshot(ctx, maxCapture)
		if err != nil {
			return nil, err
		}
		if sides[i], err = jsonvalue.Encode(snapshot); err != nil {
			return nil, fault.New(fault.Internal, "encoding a state: %w", err)
		}
	}
	patch, err := jsondiff.CompareJSON(sides[0], sides[1])
	if err != nil {
		return nil, fault.New(fault.Internal, "comparing two states: %w", err)
	}
	data, err := jsonvalue.Encode(patch)
	if err != nil {
		return nil, fault.New(fault.Internal, "encoding a patch: %w", err)
	}
	if string(data) == "null" {
		data = []byte("[]")
	}
	return &DebugOutput{Action: "diff", From: from, To: to, Patch: data}, nil
}

func (a *Auditor) stepAt(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	version, err := a.versionNamed(ctx, key, records, in.FromStep, len(records))
	if err != nil {
		return nil, err
	}
	at, err := a.engine.Replay(ctx, key, records, version)
	if err != nil {
		return nil, err
	}
	snapshot, err := at.Snapshot(ctx, flow.Whole)
	if err != nil {
		return nil, err
	}
	return &DebugOutput{Action: "step", To: version, Snapshot: &snapshot, Log: []think.Event{think.EventOf(records[version-1])}, Next: at.Instructions()}, nil
}

// fork starts a new run with the answers of an old one up to a version. With adopt it
// follows the current workflow file, provided that the answers so far have the same
// effect there; otherwise it returns the first difference.
func (a *Auditor) fork(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	version, err := a.versionNamed(ctx, key, records, in.FromStep, len(records))
	if err != nil {
		return nil, err
	}
	out := &DebugOutput{Action: "fork", From: version}
	var adopted *think.Adoption
	if in.Adopt {
		graph, named, err := a.engine.Library.Snapshot(ctx, key.Workflow)
		if err != nil {
			return nil, err
		}
		if out.Difference, err = a.divergence(ctx, key, records[:version], graph); err != nil {
			return nil, err
		}
		if out.Difference != nil {
			out.Verdict = verdictDiffers
			return out, nil
		}
		adopted = &think.Adoption{Graph: graph, Schemas: named}
	}
	out.Reply, err = a.engine.Fork(ctx, key, records[:version], in.NewRunID, adopted, in.Caller)
	return out, err
}
