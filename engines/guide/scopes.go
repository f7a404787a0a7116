package guide

import (
	"context"
	"slices"

	"savant/engines"
	"savant/think"
	"savant/think/state"
)

// Scopes has the approvals of runs for the calls that are made in them.
type Scopes struct{ Engine *think.Engine }

// About reports whether an approval in a run of the call may be about a tool.
func (s *Scopes) About(ctx context.Context, call engines.Call, tool string) bool {
	return len(s.runs(ctx, call, tool)) > 0
}

// runs returns the runs that a call may be part of: the driven run that makes it; else those
// that its caller follows.
func (s *Scopes) runs(ctx context.Context, call engines.Call, tool string) []state.Key {
	runs := []state.Key{{Workflow: call.Step.Workflow, Run: call.Step.RunID}}
	if !driven(call) {
		runs = s.Engine.RunsOf(Caller(call))
	}
	return slices.DeleteFunc(runs, func(run state.Key) bool { return !s.Engine.Scoped(ctx, run, tool) })
}

func driven(call engines.Call) bool { return call.Step.RunID != "" }

// Coverage returns what the approvals in the runs of a call say about it.
func (s *Scopes) Coverage(ctx context.Context, call engines.Call, tool string, input map[string]any) (all []think.Coverage, err error) {
	for _, run := range s.runs(ctx, call, tool) {
		found, err := s.Engine.Coverage(ctx, run, think.ScopedCall{Tool: tool, Input: input, Driven: driven(call)})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Use uses an approval up for a call.
func (s *Scopes) Use(ctx context.Context, call engines.Call, approval think.Coverage, tool string, input map[string]any) error {
	return s.Engine.Use(ctx, approval, think.ScopedCall{Tool: tool, Input: input, Driven: driven(call)}, Caller(call))
}
