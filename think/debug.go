package think

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wI2L/jsondiff"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// DebugInput asks about the past of a run.
type DebugInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id"`
	Action   string `json:"action" enum:"replay,diff,step,fork"`
	FromStep string `json:"from_step,omitempty" doc:"a version such as v3, or a step id"`
	ToStep   string `json:"to_step,omitempty" doc:"for diff; default the present"`
	NewRunID string `json:"new_run_id,omitempty" doc:"for fork"`
	Adopt    bool   `json:"adopt,omitempty" doc:"for fork: follow the workflow's file as it is now"`
}

// DebugOutput is the answer to one action.
type DebugOutput struct {
	Action string `json:"action"`
	// Verdict of a replay: "identical" or "differs".
	Verdict string `json:"verdict,omitempty"`
	// Log is the run's history up to where it was looked at.
	Log []Event `json:"log,omitempty"`
	// Difference is the first record that did not come out the same.
	Difference *Difference `json:"difference,omitempty"`
	// Patch is an RFC 6902 patch between two states.
	Patch json.RawMessage `json:"patch,omitempty"`
	From  int             `json:"from,omitempty"`
	To    int             `json:"to,omitempty"`
	// Snapshot is the state at a version, for step.
	Snapshot *flow.Snapshot `json:"snapshot,omitempty"`
	Next     []instruction  `json:"next,omitempty"`
	// Reply is what the forked run hands out.
	Reply *Reply `json:"reply,omitempty"`
}

// Difference is a record that a replay did not reproduce.
type Difference struct {
	Version  int    `json:"version"`
	Step     string `json:"step,omitempty"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// Debug replays a run, compares two of its states, shows one, or forks a new
// run from one: UNKNOWN_RUN, CHECKPOINT_NOT_FOUND, STATE_CORRUPT,
// INVALID_PARAMS for an unknown action.
func (e *Engine) Debug(ctx context.Context, in DebugInput) (*DebugOutput, error) {
	key, err := e.locate(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	records, err := e.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "replay":
		return e.verify(ctx, key, records)
	case "diff":
		return e.diff(ctx, key, records, in)
	case "step":
		return e.stepAt(ctx, key, records, in)
	case "fork":
		return e.fork(ctx, key, records, in)
	}
	return nil, fault.New(fault.InvalidParams, "action %q is none of replay, diff, step, fork", fault.Cut(in.Action, 60)).With(
		fault.Diagnostic{Path: "action", Message: "unknown action", Expected: "replay, diff, step or fork", Actual: fault.Cut(in.Action, 60)})
}

// verify makes every state of a run again and holds it against the recorded
// hashes and replies.
func (e *Engine) verify(ctx context.Context, key state.Key, records []state.Record) (*DebugOutput, error) {
	out := &DebugOutput{Action: "replay", Verdict: "identical", To: len(records)}
	for _, record := range records {
		out.Log = append(out.Log, EventOf(record))
	}
	at, err := e.replay(ctx, key, records, 1)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if i > 0 && record.Kind == kindReset {
			if at, err = e.replay(ctx, key, records, i+1); err != nil {
				return nil, err
			}
		} else if i > 0 {
			if at.now, err = e.apply(ctx, past{key, records}, at.run, record); errors.Is(err, fault.StateCorrupt) {
				out.Verdict, out.Difference = "differs", &Difference{record.Version, EventOf(record).Step, record.State, fault.From(err).Message()}
				return out, nil
			} else if err != nil {
				return nil, err // what cannot be read says nothing about the run
			}
		}
		difference, err := e.compare(ctx, at.now, record)
		if err != nil {
			return nil, err
		}
		if difference != nil {
			out.Verdict, out.Difference = "differs", difference
			return out, nil
		}
	}
	return out, nil
}

func (e *Engine) versionNamed(ctx context.Context, key state.Key, records []state.Record, name string, absent int) (int, error) {
	if name == "" {
		return absent, nil
	}
	return e.target(ctx, key, records, name)
}

func (e *Engine) diff(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	from, err := e.versionNamed(ctx, key, records, in.FromStep, max(1, len(records)-1))
	if err != nil {
		return nil, err
	}
	to, err := e.versionNamed(ctx, key, records, in.ToStep, len(records))
	if err != nil {
		return nil, err
	}
	var sides [2][]byte
	for i, version := range []int{from, to} {
		at, err := e.replay(ctx, key, records, version)
		if err != nil {
			return nil, err
		}
		whole, err := e.snapshot(ctx, past{key, records}, at.run, maxVarWhole)
		if err != nil {
			return nil, err
		}
		if sides[i], err = jsonvalue.Encode(whole); err != nil {
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

func (e *Engine) stepAt(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	version, err := e.versionNamed(ctx, key, records, in.FromStep, len(records))
	if err != nil {
		return nil, err
	}
	at, err := e.replay(ctx, key, records, version)
	if err != nil {
		return nil, err
	}
	snapshot, err := e.snapshot(ctx, past{key, records}, at.run, flow.Whole)
	if err != nil {
		return nil, err
	}
	out := &DebugOutput{Action: "step", To: version, Snapshot: &snapshot, Log: []Event{EventOf(records[version-1])}}
	for _, next := range at.now.Instructions {
		wired := wire(next)
		wired.InputTemplate = wired.Input
		out.Next = append(out.Next, wired)
	}
	return out, nil
}

// fork starts a new run with the answers of an old one up to a version. A
// person's answers do not carry over: the fork stops before the first. With
// adopt it follows the workflow's file as it is now, if what was answered so
// far goes the same way there; else the first difference is the answer.
func (e *Engine) fork(ctx context.Context, key state.Key, records []state.Record, in DebugInput) (*DebugOutput, error) {
	version, err := e.versionNamed(ctx, key, records, in.FromStep, len(records))
	if err != nil {
		return nil, err
	}
	past, err := e.replay(ctx, key, records, version)
	if err != nil {
		return nil, err
	}
	line, err := effective(records[:version])
	if err != nil {
		return nil, err
	}
	begin := beginning{graph: past.run.Graph(), schemas: past.plan.Schemas, params: past.plan.Params,
		from: &lineage{Run: key.Run, Version: version, Hash: records[version-1].Hash}}
	if in.Adopt {
		difference, err := e.adopt(ctx, key.Workflow, records[:version], &begin)
		if err != nil || difference != nil {
			return &DebugOutput{Action: "fork", From: version, Verdict: verdictDiffers, Difference: difference}, err
		}
	}
	target := state.Key{Workflow: key.Workflow, Run: in.NewRunID}
	if target.Run == "" {
		target.Run = e.NewID()
	}
	if _, err := e.create(ctx, target, begin); err != nil {
		return nil, err
	}
	for _, record := range line[1:] {
		if record.Kind == kindPerson {
			break
		}
		if err := e.carry(ctx, target, record); err != nil {
			return nil, err
		}
	}
	l, err := e.open(ctx, target.Workflow, target.Run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	standing, err := e.standing(ctx, l)
	if err != nil {
		return nil, err
	}
	reply, err := standing.restore()
	return &DebugOutput{Action: "fork", From: version, Reply: reply}, err
}

// adopt has a fork begin with a workflow's present file, unless the answers
// lead another way there.
func (e *Engine) adopt(ctx context.Context, workflow string, records []state.Record, begin *beginning) (*Difference, error) {
	graph, named, err := e.Library.Snapshot(ctx, workflow)
	if err != nil {
		return nil, err
	}
	difference, err := e.divergence(ctx, records, graph)
	if err != nil || difference != nil {
		return difference, err
	}
	begin.graph, begin.schemas, begin.named = graph, "", named
	begin.params, err = graph.Workflow.Bind(begin.params)
	return nil, err
}

// carry gives a recorded answer to a fork, which refuses it where the run did.
func (e *Engine) carry(ctx context.Context, key state.Key, record state.Record) error {
	var data answerData
	if err := decodeData(record, &data); err != nil {
		return err
	}
	raw, err := e.resultOf(ctx, data)
	if err != nil {
		return err
	}
	value, err := jsonvalue.DecodeStored(raw)
	if err != nil {
		return fault.New(fault.StateCorrupt, "record %d holds a result that is not JSON", record.Version)
	}
	l, err := e.open(ctx, key.Workflow, key.Run)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	_, err = e.settle(ctx, l, submission{raw: raw, carried: data.Receipt,
		Answer: flow.Answer{Step: data.Step, Attempt: data.Attempt, Result: value, Digest: data.Digest, Witness: data.Witness}})
	return err
}
