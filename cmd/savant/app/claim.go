package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"savant/fault"
	"savant/internal/claim"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/think/state"
)

// Undriven returns STATE_CONFLICT while another process drives a run.
func (a *App) Undriven(key state.Key) error {
	if !a.IsDriven(key) {
		return nil
	}
	return fault.New(fault.StateConflict, "another process drives run %s: end that process first", key.Run)
}

// IsDriven reports whether a process drives a run now.
func (a *App) IsDriven(key state.Key) bool {
	held, _ := a.driver(context.Background(), key)
	return held
}

// driver reports whether a process drives a run, and whether the last one left it
// unfinished.
func (a *App) driver(ctx context.Context, key state.Key) (held, left bool) {
	held, left = claim.State(a.Root, key.String())
	if a.drivers == nil || held {
		return held, left
	}
	holder, err := a.drivers.Holder(ctx, key.String())
	switch {
	case err != nil: // the caller reads the run too and reports the error
		return held, left
	case !holder.Holds:
		return false, left || holder.Left
	case holder.HeartbeatOverdue:
		return false, true
	}
	return true, false
}

// ForgetDrivers removes the claims of erased runs from the database.
func (a *App) ForgetDrivers(ctx context.Context, erased []state.Trashed) error {
	if a.drivers == nil {
		return nil
	}
	for _, each := range erased {
		if each.Run == "" {
			continue
		}
		if err := a.drivers.Remove(ctx, state.Key{Workflow: each.Workflow, Run: each.Run}.String()); err != nil {
			return mongo.Coded(fault.StateNotSaved, "the claim of run "+each.Run+" was not removed", err)
		}
	}
	return nil
}

// driversCollection holds the claims of drivers, so that one process of all machines
// drives a run.
const driversCollection = "state_drivers"

// driverLease is how long a run stays with a driver that sends no heartbeat.
const driverLease = 15 * time.Second

// claimShared is claimHere for runs in the database, among all machines.
func (a *App) claimShared(ctx context.Context, workflow, run string) (release func(), err error) {
	held, err := a.drivers.Hold(ctx, state.Key{Workflow: workflow, Run: run}.String(), fmt.Sprintf("%s/%d", hostname(), os.Getpid()), driverLease,
		func(holder jobs.Holder) {
			a.Logger.InfoContext(ctx, "the run has a driver; waiting for its heartbeat, and driving the run if none comes", "run", run, "driver", holder.Owner, "lease", driverLease)
		})
	switch {
	case errors.Is(err, jobs.ErrHeld):
		return nil, drivenElsewhere(run)
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, mongo.Coded(fault.StateNotSaved, "run "+run+" could not be claimed", err)
	}
	return func() { held(a.unfinished(workflow, run)) }, nil
}

// hostname is the name of this machine, for people; empty if it has none.
func hostname() string {
	name, _ := os.Hostname() // nothing is decided by it
	return name
}

func drivenElsewhere(run string) error {
	return fault.New(fault.StateConflict, "another process drives run %s; continue the run when that process has ended", run)
}

// unfinished reports whether a run without a driver waits for a call that Savant would
// make.
func (a *App) unfinished(workflow, run string) bool {
	at, err := a.Think.Position(context.Background(), workflow, run)
	return err == nil && at.Blocked == nil && at.Final == nil && a.waitsFor(at.Outstanding) == forTool && a.knowsOne(at.Outstanding)
}

// claimRun takes the claim on a run, so that one process drives it at a time: one of this
// folder, and if runs are kept in the database, one of all machines.
func (a *App) claimRun(ctx context.Context, workflow, run string) (release func(), err error) {
	free, err := a.claimHere(ctx, workflow, run)
	if err != nil || a.drivers == nil {
		return free, err
	}
	shared, err := a.claimShared(ctx, workflow, run)
	if err != nil {
		free()
		return nil, err
	}
	return func() { shared(); free() }, nil
}

// claimHere takes the claim on a run of a workflow, so that one process drives it at a
// time. If claims are impossible, as in a read-only folder, it succeeds without one:
// later writes detect conflicts.
func (a *App) claimHere(ctx context.Context, workflow, run string) (release func(), err error) {
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
		return nil, drivenElsewhere(run)
	case ctx.Err() != nil:
		return nil, err
	}
	a.Logger.DebugContext(ctx, "a run is driven without a claim", "run", run, "cause", err)
	return func() {}, nil
}
