package think

import (
	"context"
	"errors"

	"savant/fault"
)

// Answer is Next for whoever answers by hand what a run left to a model or to
// another client: a result that does not fit is VALIDATION_FAILED and is not
// handed in, so that a slip costs no attempt. Nobody witnesses it.
func (e *Engine) Answer(ctx context.Context, in NextInput) (*Reply, error) {
	given, err := in.submission(in.ResultSnapshot)
	if err != nil {
		return nil, err
	}
	if err := e.wouldFit(ctx, in, given); err != nil {
		return nil, err
	}
	return e.Next(ctx, in)
}

func (e *Engine) wouldFit(ctx context.Context, in NextInput, given submission) error {
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	err = e.check(ctx, l, in.StepID, given.Result, false)
	if errors.Is(err, fault.ToolFailed) {
		return nil // it says that the tool failed, which is an answer
	}
	return err
}
