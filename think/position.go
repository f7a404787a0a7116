package think

import (
	"context"
	"slices"

	"savant/fault"
	"savant/think/flow"
)

// Position is where a run stands, for a runtime that carries out its steps
// itself: nothing in it is shortened, as a Reply is for a model.
type Position struct {
	Workflow, RunID string
	Version         int
	Status          flow.Status
	// Outstanding are the instructions that wait for an answer, in declaration
	// order.
	Outstanding []flow.Instruction
	// Ran counts the steps that ended done or failed so far.
	Ran int
	// Blocked is why the run cannot go on, or nil.
	Blocked *fault.Error
	// Final is the report of a finished run, or nil; do not change it.
	Final *flow.Final
	// Last is the reply that ended the run, or nil.
	Last *Reply
}

// Position returns where a run stands: UNKNOWN_RUN, STATE_CORRUPT. The
// workflow may be left out where the run's id is unique.
func (e *Engine) Position(ctx context.Context, workflow, run string) (*Position, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	at := &Position{Workflow: l.key.Workflow, RunID: l.key.Run, Version: l.now.Version, Status: l.now.Status,
		Outstanding: slices.Clone(l.now.Instructions), Ran: l.now.Ran, Final: l.now.Final}
	if l.now.Blocked != nil {
		at.Blocked = blockedFault(l.now)
		return at, nil
	}
	if at.Final == nil {
		return at, nil
	}
	at.Last, err = restored(e.standing(ctx, l))
	return at, err
}
