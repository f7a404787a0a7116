package engines

import (
	"context"
	"encoding/json"
	"slices"
)

// Call says for whom a tool is called, and within what. A tool passes it on to the calls
// that it makes in turn. The zero Call is one of the program itself.
type Call struct {
	// Caller is the client that asked for the call.
	Caller
	// Agent is the step of an agent's run within which the call is made, or zero.
	Agent AgentStep
	// Step is the step of a driven run within which the call is made, or zero. Only that
	// run can use the receipt.
	Step WorkflowStep
	// Waiting are the driven runs that wait for the call, outermost first.
	Waiting []Run
	// Warnings say what the models of the run's earlier steps did not see.
	Warnings []Warning

	// guards decide about the call, and nested also about the calls that its tool makes,
	// at any depth: a nested call can only be restricted further.
	guards, nested []Guard
}

// AgentStep identifies the step of an agent's run.
type AgentStep struct {
	RunID string
	Step  int
	// Tool is the tool that the agent called, also for the calls that it makes in turn.
	Tool string
}

// Run identifies a run of a workflow.
type Run struct{ Workflow, RunID string }

// WorkflowStep identifies a step of a run of a workflow.
type WorkflowStep struct{ Workflow, RunID, StepID string }

// Warning says that the model of a step of a run did not see all of the step's input.
type Warning struct {
	StepID string
	Text   string
	// Seen has the texts of the input that were cut: how many of their first lines the
	// model saw.
	Seen map[string]int
}

// Guarded returns a call that is already permitted: the guard decides about every call
// that its tool makes.
func (c Call) Guarded(guard Guard) Call {
	c.nested = append(slices.Clone(c.nested), guard)
	return c
}

// Detached returns the call for work that outlives c: it keeps the guards alone.
func (c Call) Detached() Call { return Call{guards: c.guards, nested: c.nested} }

// permitted asks the guards about the call, and returns it as its tool gets it.
func (c Call) permitted(ctx context.Context, tool Tool, args json.RawMessage) (Call, error) {
	for _, each := range c.guards {
		if err := each.Permit(ctx, tool, args); err != nil {
			return c, err
		}
	}
	if len(c.nested) > 0 {
		c.guards, c.nested = slices.Concat(c.guards, c.nested), nil
	}
	return c, nil
}
