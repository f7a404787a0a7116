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
func (a *App) Driven(key state.Key) bool { return claim.Taken(a.Root, key.String()) }

// claimRun has a run of a workflow driven by one process at a time. Where that
// cannot be had, as in a folder that cannot be written, nobody is kept out: who
// drives it then fails, or not, by what else is written.
func (a *App) claimRun(ctx context.Context, workflow, run string) (release func(), err error) {
	release, err = claim.Take(ctx, a.Root, state.Key{Workflow: workflow, Run: run}.String())
	switch {
	case err == nil:
		return release, nil
	case errors.Is(err, claim.ErrTaken):
		return nil, fault.New(fault.StateConflict, "run %s is being driven by another process; it can be continued when that has ended", run)
	case ctx.Err() != nil:
		return nil, err
	}
	a.Logger.DebugContext(ctx, "a run is driven without a claim", "run", run, "cause", err)
	return func() {}, nil
}
