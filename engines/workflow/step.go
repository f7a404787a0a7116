package workflow

import "context"

// Step identifies the step of a driven run that makes a call.
type Step struct{ Workflow, RunID, StepID string }

type stepKey struct{}

// StepFrom returns the step that makes the call of ctx, if any.
func StepFrom(ctx context.Context) (Step, bool) {
	step, ok := ctx.Value(stepKey{}).(Step)
	return step, ok
}

func withStep(ctx context.Context, step Step) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}
