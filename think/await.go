package think

import (
	"context"
	"errors"
	"slices"
	"time"
)

// lookAgain is the polling interval of a run with an open question: the longest delay
// until an answer given in another process is noticed.
const lookAgain = 250 * time.Millisecond

// errElsewhere ends a question that was answered elsewhere.
var errElsewhere = errors.New("the question was answered elsewhere")

// AwaitAnswer returns nil once a question no longer waits: a person answered it, in
// whatever process, or the run went on without it. Otherwise it returns the error of ctx.
func (e *Engine) AwaitAnswer(ctx context.Context, asked Pending) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if !e.waits(ctx, asked) {
			return ctx.Err()
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
	for _, asked := range now {
		if asked.StepID == step {
			return e.AwaitAnswer(ctx, asked)
		}
	}
	return nil
}

// waits reports whether a question is still as it was asked. A run that cannot be read
// says nothing of it.
func (e *Engine) waits(ctx context.Context, asked Pending) bool {
	now, err := e.Pending(ctx, asked.Workflow, asked.RunID)
	return err != nil || slices.ContainsFunc(now, func(p Pending) bool { return p.StepID == asked.StepID && p.Digest == asked.Digest })
}

// elicitUntilAnswered asks the person at the client, and withdraws the question once it
// is answered elsewhere.
func (e *Engine) elicitUntilAnswered(ctx context.Context, ask Ask, asked Pending) (answer any, given, elsewhere bool) {
	asking, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if e.AwaitAnswer(asking, asked) == nil {
			stop(errElsewhere)
		}
	}()
	answer, given = e.elicit(asking, ask, asked)
	stop(nil)
	<-watched
	return answer, given, !given && (errors.Is(context.Cause(asking), errElsewhere) || !e.waits(ctx, asked))
}
