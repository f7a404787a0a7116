package workflow

import (
	"context"
	"slices"

	"savant/fault"
	"savant/think/flow"
)

// callStack is the runs that wait for a call, the outermost first: a step of a
// driven run may drive another.
type callStack []place

type callStackKey struct{}

func callStackOf(ctx context.Context) callStack {
	runs, _ := ctx.Value(callStackKey{}).(callStack)
	return runs
}

// push returns the context of the calls that a run on top of the stack makes.
func (s callStack) push(ctx context.Context, at place) context.Context {
	return context.WithValue(ctx, callStackKey{}, append(slices.Clone(s), at))
}

// checkDepth refuses one more run on a stack as deep as workflows may be:
// LIMIT_EXCEEDED.
func (s callStack) checkDepth() error {
	if len(s) < flow.MaxWorkflowDepth {
		return nil
	}
	return fault.New(fault.LimitExceeded, "%d runs wait for this one already: a workflow that runs itself must end sooner", len(s))
}

// checkCycle refuses a run that would wait for itself: CYCLIC_DEPENDENCY.
func (s callStack) checkCycle(at place) error {
	if !slices.Contains(s, at) {
		return nil
	}
	return fault.New(fault.CyclicDependency, "run %s of workflow %s would wait for itself", at.run, at.workflow)
}
