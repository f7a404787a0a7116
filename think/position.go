package think

import (
	"context"

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
	at := &Position{Workflow: l.key.Workflow, RunID: l.key.Run, Version: l.run.Version(), Status: l.run.Status(),
		Outstanding: l.run.Outstanding(), Ran: l.run.Ran(), Final: l.run.Final()}
	if l.run.Blocked() != nil {
		at.Blocked = e.blockedFault(l.run)
		return at, nil
	}
	for i := range at.Outstanding {
		if err := whole(l.run, &at.Outstanding[i]); err != nil {
			return nil, err
		}
	}
	if at.Final != nil {
		at.Last, err = e.standing(ctx, l)
	}
	return at, err
}

// whole puts the success schema into an instruction that only names it.
func whole(run *flow.Run, next *flow.Instruction) error {
	if _, named := next.SuccessSchema.(string); !named {
		return nil
	}
	explained, err := run.Explain(next.StepID)
	if err == nil {
		next.SuccessSchema = explained.SuccessSchema
	}
	return err
}
