package workflow

import "context"

// Step is the step of a driven run that a call is made for.
type Step struct{ Workflow, RunID, StepID string }

type stepKey struct{}

// StepFrom returns the step that a call is made for, if it is made for one.
func StepFrom(ctx context.Context) (Step, bool) {
	step, ok := ctx.Value(stepKey{}).(Step)
	return step, ok
}

func withStep(ctx context.Context, step Step) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}
