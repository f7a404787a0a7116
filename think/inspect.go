package think

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ExplainInput names a step, of a run or of a workflow.
type ExplainInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty"`
	StepID   string `json:"step_id"`
}

// Explain tells why a step is where it is: UNKNOWN_STEP, UNKNOWN_RUN,
// UNKNOWN_WORKFLOW.
func (e *Engine) Explain(ctx context.Context, in ExplainInput) (*flow.Explanation, error) {
	if in.RunID == "" {
		graph, err := e.Library.Graph(in.Workflow)
		if err != nil {
			return nil, err
		}
		return graph.Explain(in.StepID)
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return e.explain(ctx, l.past(), l.run, in.StepID)
}

// StateGetInput names a run, and a capture to have it whole; or an artifact.
type StateGetInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty"`
	Var      string `json:"var,omitempty" doc:"one capture, whole"`
	Artifact string `json:"artifact,omitempty" doc:"instead of a run: a value kept by this SHA-256, in parts"`
	Offset   int    `json:"offset,omitempty" min:"0"`
	Limit    int    `json:"limit,omitempty" min:"4" max:"64000"`
}

// StateGet is the whole state of a run.
type StateGet struct {
	Snapshot    *flow.Snapshot         `json:"snapshot,omitempty"`
	History     []Event                `json:"history,omitempty"`
	Checkpoints []state.CheckpointInfo `json:"checkpoints,omitzero"`
	Outstanding []string               `json:"outstanding,omitzero"`
	Drift       bool                   `json:"drift,omitempty"`
	Lineage     *lineage               `json:"lineage,omitempty"`
	Value       json.RawMessage        `json:"value,omitempty"`
	Artifact    *ArtifactPart          `json:"artifact,omitempty"`
}

// Event is one record of a run's history.
type Event struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	Time    string `json:"time"`
	Step    string `json:"step,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Refused is the code that a failed attempt was answered with.
	Refused fault.Code `json:"refused,omitempty"`
	To      int        `json:"to,omitempty"`
	// Witness says who saw the result of a step come about: "self", "gateway"
	// or "person". Receipt is that of the call, where it was the gateway.
	Witness string `json:"witness,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	Hash    string `json:"hash"`
}

// maxVarWhole is how long a capture may be in the answer of state.get; a
// longer one is read by its name.
const maxVarWhole = 4000

// StateGet returns a run's state, history and checkpoints, or a part of an
// artifact: INVALID_PARAMS, UNKNOWN_RUN, STATE_CORRUPT, UNRESOLVED_VAR.
func (e *Engine) StateGet(ctx context.Context, in StateGetInput) (*StateGet, error) {
	switch {
	case in.RunID == "" && in.Artifact == "":
		return nil, fault.New(fault.InvalidParams, "missing argument \"run_id\"").
			With(fault.Diagnostic{Path: "run_id", Message: "missing argument \"run_id\""})
	case in.Artifact != "":
		part, err := e.artifactPart(ctx, in)
		if err != nil {
			return nil, err
		}
		return &StateGet{Artifact: part}, nil
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if in.Var != "" {
		value, err := e.capture(ctx, l.past(), l.run, in.Var)
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, fault.New(fault.UnresolvedVar, "run %q has no capture %q yet", l.key.Run, fault.Cut(in.Var, 120))
		}
		return &StateGet{Value: value}, nil
	}
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	if err != nil {
		return nil, err
	}
	checkpoints, err := e.Store.Checkpoints(ctx, l.key)
	if err != nil {
		return nil, err
	}
	if checkpoints == nil {
		checkpoints = []state.CheckpointInfo{}
	}
	var plan planData
	if err := decodeData(records[0], &plan); err != nil {
		return nil, err
	}
	snapshot, err := e.snapshot(ctx, l.past(), l.run, maxVarWhole)
	if err != nil {
		return nil, err
	}
	if err := e.previewLong(ctx, l, &snapshot); err != nil {
		return nil, err
	}
	out := &StateGet{Snapshot: &snapshot, Checkpoints: checkpoints, Outstanding: l.outstanding(), Drift: e.drifted(l.pins), Lineage: plan.Lineage}
	for _, record := range records {
		out.History = append(out.History, event(record))
	}
	return out, nil
}

// previewLong puts their beginnings in the place of long captures.
func (e *Engine) previewLong(ctx context.Context, l *live, whole *flow.Snapshot) error {
	nameLong(whole)
	for name, value := range whole.Vars {
		named, ok := value.(preview)
		if !ok {
			continue
		}
		long, err := e.capture(ctx, l.past(), l.run, name)
		if err != nil {
			return err
		}
		named.Preview = fault.Cut(string(long), maxPreview)
		whole.Vars[name] = named
	}
	return nil
}

func event(record state.Record) Event {
	out := Event{Version: record.Version, Kind: record.Kind, Time: record.Time, Hash: record.State}
	var data struct {
		Step    string `json:"step"`
		Attempt int    `json:"attempt"`
		To      int    `json:"to"`
		Witness string `json:"witness"`
		Receipt string `json:"receipt"`
		Reply   struct {
			Fault *fault.Error `json:"fault"`
		} `json:"reply"`
	}
	if json.Unmarshal(record.Data, &data) == nil {
		out.Step, out.Attempt, out.To, out.Witness, out.Receipt = data.Step, data.Attempt, data.To, data.Witness, data.Receipt
		if out.Witness == "" && record.Kind == kindResult {
			out.Witness = flow.WitnessSelf
		}
		if data.Reply.Fault != nil {
			out.Refused = data.Reply.Fault.Code
		}
	}
	return out
}

// StateListInput selects runs.
type StateListInput struct {
	Workflow string `json:"workflow,omitempty"`
	Limit    int    `json:"limit,omitempty" doc:"default 50"`
}

// StateList is a listing of runs, the last changed first.
type StateList struct {
	Runs  []state.Info `json:"runs"`
	Total int          `json:"total"`
}

// StateList lists runs.
func (e *Engine) StateList(ctx context.Context, in StateListInput) (*StateList, error) {
	infos, err := e.Store.List(ctx, plainName(in.Workflow))
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 50
	}
	out := &StateList{Runs: infos, Total: len(infos)}
	if len(infos) > limit {
		out.Runs = infos[:limit]
	}
	if out.Runs == nil {
		out.Runs = []state.Info{}
	}
	return out, nil
}

// Outputs returns the outputs of a finished run: UNKNOWN_RUN;
// INVALID_TRANSITION while it goes on.
func (e *Engine) Outputs(ctx context.Context, workflow, run string) (any, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	final := l.now.Final
	if final == nil {
		return nil, fault.New(fault.InvalidTransition, "run %q is %s: it has no outputs yet", run, l.now.Status)
	}
	return final.Outputs, nil
}
