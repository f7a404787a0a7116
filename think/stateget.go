package think

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// StateGetInput names a run, or one value of it; or an artifact.
type StateGetInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty" example:"r1"`
	// Caller makes the call, see NextInput.
	Caller   Caller `json:"-"`
	Var      string `json:"var,omitempty" doc:"one capture, or params.NAME"`
	List     string `json:"list,omitempty" doc:"a loop's list, by its step id"`
	Section  string `json:"section,omitempty" enum:"steps,lists,vars,history"`
	After    string `json:"after,omitempty" doc:"with section: the name in more"`
	Artifact string `json:"artifact,omitempty" list:"no" doc:"instead of a run: the value of a reference"`
	Offset   int    `json:"offset,omitempty" list:"no" min:"0"`
	// Limit bounds what is returned, in bytes; below 0, which no client can
	// send, nothing does.
	Limit int `json:"limit,omitempty" list:"no" min:"4" max:"64000" doc:"bytes"`
}

// StateGet is the state of a run, or a page of it.
type StateGet struct {
	// RunID names the run, if the call did not.
	RunID       string                 `json:"run_id,omitempty"`
	Snapshot    *flow.Snapshot         `json:"snapshot,omitempty"`
	History     []Event                `json:"history,omitempty"`
	Checkpoints []state.CheckpointInfo `json:"checkpoints,omitzero"`
	Outstanding []string               `json:"outstanding,omitzero"`
	Drift       bool                   `json:"drift,omitempty"`
	Lineage     *lineage               `json:"lineage,omitempty"`
	// Refused counts the calls that the gate refused.
	Refused int `json:"refused,omitempty"`
	// Imported is the version up to which the run was made elsewhere.
	Imported int             `json:"imported,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	// Part is of the JSON of a value that is longer than the limit.
	Part     *Part `json:"part,omitempty"`
	Artifact *Part `json:"artifact,omitempty"`
	// More lists the omitted parts, and how to request them.
	More []More `json:"more,omitempty"`
}

// More is a section of which Left members were left out: they follow After.
type More struct {
	Section string `json:"section"`
	Left    int    `json:"left"`
	After   string `json:"after,omitempty"`
}

// maxState is how long a page of the state is, in bytes.
const maxState = 64_000

// StateGet returns a run's state, history and checkpoints, in pages; a value of
// it, or a part of an artifact: INVALID_PARAMS, UNKNOWN_RUN, STATE_CORRUPT,
// UNRESOLVED_VAR.
func (e *Engine) StateGet(ctx context.Context, in StateGetInput) (*StateGet, error) {
	if in.Artifact != "" {
		if in.Limit <= 0 {
			in.Limit = defaultPart
		}
		part, err := e.Artifact(ctx, ArtifactInput{Ref: in.Artifact, Offset: in.Offset, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		return &StateGet{Artifact: part}, nil
	}
	meant, err := e.targetOf(ctx, in.Caller, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	in.Workflow, in.RunID = meant.key.Workflow, meant.key.Run
	out, err := e.stateGet(ctx, in)
	if err != nil {
		return nil, withRunID(meant.id(), err)
	}
	out.RunID = meant.id()
	return out, nil
}

func (e *Engine) stateGet(ctx context.Context, in StateGetInput) (*StateGet, error) {
	switch {
	case in.Limit < 0:
		in.Limit = math.MaxInt / 4
	case in.Limit == 0:
		in.Limit = maxState
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if in.Var != "" || in.List != "" {
		return e.stateValue(ctx, l, in)
	}
	return e.statePage(ctx, l, in)
}

// stateValue returns one value of a run, a long one in parts.
func (e *Engine) stateValue(ctx context.Context, l *live, in StateGetInput) (*StateGet, error) {
	value, err := e.valueOf(ctx, l, in)
	if err != nil {
		return nil, err
	}
	if len(value) <= in.Limit && in.Offset == 0 {
		return &StateGet{Value: value}, nil
	}
	part, err := partOf(value, in.Offset, in.Limit)
	if err != nil {
		return nil, err
	}
	return &StateGet{Part: part}, nil
}

// valueOf returns the JSON of a capture, a parameter or a loop's list:
// UNRESOLVED_VAR.
func (e *Engine) valueOf(ctx context.Context, l *live, in StateGetInput) (json.RawMessage, error) {
	if in.List != "" {
		if step, err := l.run.View().Step(in.List); err == nil && step.List() != nil {
			return jsonvalue.Encoded(step.List()), nil
		}
		return nil, fault.New(fault.UnresolvedVar, "run %q has no loop %q with a list", l.key.Run, fault.Cut(in.List, 120))
	}
	value, err := e.capture(ctx, l.history(), l.run, in.Var)
	if err != nil || value != nil {
		return value, err
	}
	if name, ok := strings.CutPrefix(in.Var, "params."); ok {
		if param, known := l.run.View().Params()[name]; known {
			return jsonvalue.Encoded(param), nil
		}
	}
	return nil, fault.New(fault.UnresolvedVar, "run %q has no capture %q yet", l.key.Run, fault.Cut(in.Var, 120))
}

// statePage returns all of a run's state that the limit allows, or of one of
// its sections.
func (e *Engine) statePage(ctx context.Context, l *live, in StateGetInput) (*StateGet, error) {
	first, err := e.record(ctx, l.history(), 1)
	if err != nil {
		return nil, err
	}
	var plan struct {
		Lineage *lineage `json:"lineage"`
	}
	if err := decodeData(first, &plan); err != nil {
		return nil, err
	}
	checkpoints, err := e.Store.Checkpoints(ctx, l.key)
	if err != nil {
		return nil, err
	}
	if checkpoints == nil {
		checkpoints = []state.CheckpointInfo{}
	}
	for i := range checkpoints {
		checkpoints[i].Hash = jsonvalue.SHA256(checkpoints[i].Hash)
	}
	if plan.Lineage != nil {
		plan.Lineage.Hash = jsonvalue.SHA256(plan.Lineage.Hash)
	}
	snapshot := l.run.View().Head()
	snapshot.Params = shortParams(snapshot, in.Limit/4)
	out := &StateGet{Snapshot: &snapshot, Checkpoints: checkpoints, Outstanding: l.outstanding(), Drift: e.drifted(l.pins), Lineage: plan.Lineage, Refused: l.refused}
	if out.Imported, err = e.imported(ctx, l.key); err != nil {
		return nil, err
	}
	p := statePage{in: in, out: out}
	if err := p.fill(l.run.View()); err != nil {
		return nil, err
	}
	if err := e.previewLong(ctx, l, &snapshot); err != nil {
		return nil, err
	}
	if p.wants("history") {
		err = p.history(ctx, l, e.Store)
	}
	return out, err
}

// previewLong puts their beginnings in the place of long captures.
func (e *Engine) previewLong(ctx context.Context, l *live, snapshot *flow.Snapshot) error {
	nameLong(snapshot)
	for name, value := range snapshot.Vars {
		named, ok := value.(preview)
		if !ok {
			continue
		}
		long, err := e.capture(ctx, l.history(), l.run, name)
		if err != nil {
			return err
		}
		named.Preview = fault.Cut(string(long), maxPreview)
		snapshot.Vars[name] = named
	}
	return nil
}

// shortParams returns the parameters of a run. If they exceed most bytes, previews
// replace the long ones.
func shortParams(snapshot flow.Snapshot, most int) map[string]any {
	short, total := map[string]any{}, 0
	for name, value := range snapshot.Params {
		data := jsonvalue.Encoded(value)
		total += len(data)
		if short[name] = value; len(data) > maxVarWhole {
			short[name] = preview{Artifact: varURI(snapshot.Workflow, snapshot.RunID, "params."+name), Size: len(data),
				Preview: fault.Cut(string(data[:min(len(data), 4*maxPreview)]), maxPreview)}
		}
	}
	if total <= most {
		return snapshot.Params
	}
	return short
}
