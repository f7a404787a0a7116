package app

import (
	"context"
	"errors"

	"savant/fault"
	"savant/internal/claim"
	"savant/think/state"
)

// Undriven returns STATE_CONFLICT while another process drives a run.
func (a *App) Undriven(key state.Key) error {
	if !a.Driven(key) {
		return nil
	}
	return fault.New(fault.StateConflict, "run %s is being driven by another process: end that first", key.Run)
}

// Driven reports whether a process drives a run now.
func (a *App) Driven(key state.Key) bool {
	held, _ := claim.State(a.Root, key.String())
	return held
}

// unfinished reports whether a run without a driver stands at a call that Savant would
// make.
func (a *App) unfinished(workflow, run string) bool {
	at, err := a.Think.Position(context.Background(), workflow, run)
	return err == nil && at.Blocked == nil && at.Final == nil && a.waitsFor(at.Outstanding) == forTool && a.knowsOne(at.Outstanding)
}

// claimRun takes the claim on a run of a workflow, so that one process drives it at a
// time. If claims are impossible, as in a read-only folder, it succeeds without one:
// later writes detect conflicts.
func (a *App) claimRun(ctx context.Context, workflow, run string) (release func(), err error) {
	name := state.Key{Workflow: workflow, Run: run}.String()
	free, err := claim.Take(ctx, a.Root, name)
	switch {
	case err == nil:
		return func() {
			unfinished := a.unfinished(workflow, run)
			free()
			if unfinished {
				claim.Leave(a.Root, name)
			}
		}, nil
	case errors.Is(err, claim.ErrTaken):
		return nil, fault.New(fault.StateConflict, "run %s is being driven by another process; it can be continued when that has ended", run)
	case ctx.Err() != nil:
		return nil, err
	}
	a.Logger.DebugContext(ctx, "a run is driven without a claim", "run", run, "cause", err)
	return func() {}, nil
}
