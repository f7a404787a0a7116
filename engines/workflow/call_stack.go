package workflow

import (
	"context"
	"slices"

	"savant/fault"
	"savant/think/flow"
)

// callStack is the stack of runs that wait for a call, outermost first: a step of a
// driven run may drive another run.
type callStack []place

type callStackKey struct{}

func callStackOf(ctx context.Context) callStack {
	runs, _ := ctx.Value(callStackKey{}).(callStack)
	return runs
}

// push returns the context for the calls of a run on top of the stack.
func (s callStack) push(ctx context.Context, at place) context.Context {
	return context.WithValue(ctx, callStackKey{}, append(slices.Clone(s), at))
}

// checkDepth returns LIMIT_EXCEEDED if the stack has the maximum depth.
func (s callStack) checkDepth() error {
	if len(s) < flow.MaxWorkflowDepth {
		return nil
	}
	return fault.New(fault.LimitExceeded, "%d runs already wait for this one: a workflow that runs itself must end sooner", len(s))
}

// checkCycle returns CYCLIC_DEPENDENCY if the run is on the stack: it would wait for
// itself.
func (s callStack) checkCycle(at place) error {
	if !slices.Contains(s, at) {
		return nil
	}
	return fault.New(fault.CyclicDependency, "run %s of workflow %s would wait for itself", at.run, at.workflow)
}
