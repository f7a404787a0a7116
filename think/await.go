package think

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"savant/fault"
)

// lookAgain is the polling interval of a run with an open question: the longest delay
// until an answer given in another process is noticed.
const lookAgain = 250 * time.Millisecond

// errElsewhere ends a question that was answered elsewhere.
var errElsewhere = errors.New("the question was answered elsewhere")

// AwaitAnswer returns nil once a question no longer waits: a person answered it, in
// whatever process, or the run went on without it. Otherwise it returns the error of
// ctx, or why the run can be asked no more: UNKNOWN_RUN, RUN_CANCELLED or STATE_CORRUPT.
func (e *Engine) AwaitAnswer(ctx context.Context, asked Pending) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if waits, err := e.waits(ctx, asked); !waits {
			return cmp.Or(ctx.Err(), err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// AwaitStep is AwaitAnswer for whatever a step asks a person now.
func (e *Engine) AwaitStep(ctx context.Context, workflow, run, step string) error {
	now, err := e.Pending(ctx, workflow, run)
	if err != nil {
		return err
	}
	for _, pending := range now {
		if pending.StepID == step {
			return e.AwaitAnswer(ctx, pending)
		}
	}
	return nil
}

// waits reports whether a question is still as it was asked. A run that cannot be read now
// says nothing of it; one that is gone, cancelled or damaged waits no more, and err says so.
func (e *Engine) waits(ctx context.Context, asked Pending) (waits bool, err error) {
	now, err := e.Pending(ctx, asked.Workflow, asked.RunID)
	switch {
	case errors.Is(err, fault.UnknownRun), errors.Is(err, fault.UnknownWorkflow), errors.Is(err, fault.RunCancelled), errors.Is(err, fault.StateCorrupt):
		return false, err
	case err != nil:
		return true, nil
	}
	return slices.ContainsFunc(now, func(p Pending) bool { return p.StepID == asked.StepID && p.Digest == asked.Digest }), nil
}

// elicitUntilAnswered asks the person at the client, and withdraws the question once it
// is answered elsewhere.
func (e *Engine) elicitUntilAnswered(ctx context.Context, ask Ask, pending Pending, misfit string) (answer any, elsewhere bool, err error) {
	asking, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := e.AwaitAnswer(asking, pending); err == nil || asking.Err() == nil { // answered, or gone
			stop(errElsewhere)
		}
	}()
	answer, err = e.elicit(asking, ask, pending, misfit)
	stop(nil)
	<-watched
	waits, _ := e.waits(ctx, pending)
	return answer, err != nil && (errors.Is(context.Cause(asking), errElsewhere) || !waits), err
}
