package app

import (
	"context"
	"errors"

	"savant/fault"
	"savant/internal/claim"
)

// claimRun has a run of a workflow driven by one process at a time. Where that
// cannot be had, as in a folder that cannot be written, nobody is kept out: who
// drives it then fails, or not, by what else is written.
func (a *App) claimRun(ctx context.Context, workflow, run string) (release func(), err error) {
	release, err = claim.Take(ctx, a.Root, workflow+"/"+run)
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
