package engines

import (
	"cmp"
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
	// Orderers are the callers that ordered the agent's run within which the call is made,
	// outermost first.
	Orderers []string
	// Within are the runs whose rules held for who ordered the agent's run.
	Within []Run
	// Warnings say what the models of the run's earlier steps did not see.
	Warnings []Warning

	// guards decide about the call, and nested also about the calls that its tool makes,
	// at any depth: a nested call can only be restricted further.
	guards, nested []Guard
	// agent is the step of an agent's run that started what a detached call is of.
	agent AgentStep
}

// AgentStep identifies the step of an agent's run.
type AgentStep struct {
	RunID string
	Step  int
	// Tool is the tool that the agent called, also for the calls that it makes in turn.
	Tool string
	// Notes are the run's; nil: nobody keeps any.
	Notes Notes
}

// Notes keep what rules have to know of the calls of an agent's run beside the run, where
// another machine can take it over.
type Notes interface {
	// Note keeps a note.
	Note(note json.RawMessage) error
	// Earlier gives take the notes of the run's earlier drivers, until it returns nil.
	Earlier(take func([]json.RawMessage) error) error
}

// Run identifies a run of a workflow.
type Run struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
}

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

// Detached returns the call for work that outlives c: it keeps the guards, and whose
// session it is.
func (c Call) Detached() Call {
	return Call{guards: c.guards, nested: c.nested, agent: c.AgentRun(), Orderers: c.Orderers, Within: c.Within}
}

// AgentRun returns the step of the agent's run that the call is of, or that started what it is of.
func (c Call) AgentRun() AgentStep { return cmp.Or(c.Agent, c.agent) }

// Ordering returns the Orderers of the calls of a run of the agent that this call orders.
func (c Call) Ordering() []string {
	all := slices.Clone(c.Orderers)
	if agent := c.AgentRun(); agent.RunID != "" {
		all = append(all, "agent "+agent.RunID)
	}
	if c.ID != "" {
		all = append(all, c.ID)
	}
	return all
}

// Runs returns the runs that the call is part of, outermost first: those within which its
// agent's run was ordered, those that wait for it, and that of its step.
func (c Call) Runs() []Run {
	all := slices.Concat(c.Within, c.Waiting)
	if c.Step.RunID != "" {
		all = append(all, Run{c.Step.Workflow, c.Step.RunID})
	}
	return all
}

// Session names whose earlier calls belong to this one: those of an agent's run, else of
// a driven run, else of the caller. lasting: it is the same after a restart, too.
func (c Call) Session() (name string, lasting bool) {
	switch agent := c.AgentRun(); {
	case agent.RunID != "":
		return "agent " + agent.RunID, true
	case len(c.Waiting) > 0:
		return "run " + c.Waiting[0].Workflow + " " + c.Waiting[0].RunID, true
	case c.Step.RunID != "":
		return "run " + c.Step.Workflow + " " + c.Step.RunID, true
	}
	return c.ID, c.Lasting
}

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
