package guide

import (
	"context"
	"slices"

	"savant/engines"
	"savant/think"
	"savant/think/state"
)

// Runs has what runs say about the calls that are made in them: their approvals, and the
// rules of their workflows.
type Runs struct{ Engine *think.Engine }

// About reports whether an approval in a run of the call may be about a tool.
func (r *Runs) About(ctx context.Context, call engines.Call, tool string) bool {
	return len(r.runs(ctx, call, tool)) > 0
}

// runs returns the runs that a call may be part of: the driven run that makes it; else those
// that its caller follows.
func (r *Runs) runs(ctx context.Context, call engines.Call, tool string) []state.Key {
	runs := []state.Key{{Workflow: call.Step.Workflow, Run: call.Step.RunID}}
	if !isDriven(call) {
		runs = r.Engine.RunsOf(Caller(call))
	}
	return slices.DeleteFunc(runs, func(run state.Key) bool { return !r.Engine.Scoped(ctx, run, tool) })
}

// Rulings returns the workflows with rules that the runs of a call follow: of those that
// wait for it, of the one whose step it is, and of those that its caller follows, or who
// ordered it: a call that begins another run is no way around their rules.
func (r *Runs) Rulings(ctx context.Context, call engines.Call) (all []think.Ruling, err error) {
	var keys []state.Key
	for _, each := range call.Runs() {
		keys = append(keys, state.Key{Workflow: each.Workflow, Run: each.RunID})
	}
	keys = append(keys, r.Engine.RunsOf(Caller(call))...)
	for _, each := range call.Orderers {
		keys = append(keys, r.Engine.RunsOf(think.Caller{ID: each})...)
	}
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		found, err := r.Engine.Rulings(ctx, key)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Ruling implements agent.Runs.
func (r *Runs) Ruling(ctx context.Context, call engines.Call) (runs []engines.Run, err error) {
	found, err := r.Rulings(ctx, call)
	for _, each := range found {
		if run := (engines.Run{Workflow: each.Run.Workflow, RunID: each.Run.Run}); !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return runs, err
}

func isDriven(call engines.Call) bool { return call.Step.RunID != "" }

// Coverage returns what the approvals in the runs of a call say about it.
func (r *Runs) Coverage(ctx context.Context, call engines.Call, tool string, input map[string]any) (all []think.ScopedApproval, err error) {
	for _, run := range r.runs(ctx, call, tool) {
		found, err := r.Engine.Coverage(ctx, run, think.ScopedCall{Tool: tool, Input: input, Driven: isDriven(call)})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Use uses an approval up for a call.
func (r *Runs) Use(ctx context.Context, call engines.Call, approval think.ScopedApproval, tool string, input map[string]any) error {
	return r.Engine.Use(ctx, approval, think.ScopedCall{Tool: tool, Input: input, Driven: isDriven(call)}, Caller(call))
}
