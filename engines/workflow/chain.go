package workflow

import (
	"context"
	"slices"

	"savant/fault"
	"savant/think/flow"
)

// chain is the runs that wait for a call, the outermost first: a step of a
// driven run may drive another.
type chain []place

type chainKey struct{}

func chainOf(ctx context.Context) chain {
	runs, _ := ctx.Value(chainKey{}).(chain)
	return runs
}

// within returns the context of a call that the innermost run of a chain makes.
func (c chain) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, chainKey{}, c)
}

// and returns the chain with one more run.
func (c chain) and(at place) chain { return append(slices.Clone(c), at) }

// room refuses one more run below as many as a workflow may be deep:
// LIMIT_EXCEEDED.
func (c chain) room() error {
	if len(c) < flow.MaxWorkflowDepth {
		return nil
	}
	return fault.New(fault.LimitExceeded, "%d runs wait for this one already: a workflow that runs itself must end sooner", len(c))
}

// admit refuses a run that would wait for itself: CYCLIC_DEPENDENCY.
func (c chain) admit(at place) error {
	if !slices.Contains(c, at) {
		return nil
	}
	return fault.New(fault.CyclicDependency, "run %s of workflow %s would wait for itself", at.run, at.workflow)
}
