package guide

import (
	"context"

	"savant/engines"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
)

// Caller returns who makes a call, for Think.
func Caller(call engines.Call) think.Caller {
	caller := think.Caller{ID: call.ID, Name: call.Name, Client: call.Client, Apps: call.Apps}
	if call.ID == "" && call.Agent.RunID != "" { // an agent's runs are its own
		caller.ID = "agent " + call.Agent.RunID
	}
	if call.Person != nil {
		caller.Ask = func(ctx context.Context, form think.Form) (think.Filled, error) {
			answer, err := call.Person.Ask(ctx, engines.Elicitation(form))
			return think.Filled(answer), err
		}
	}
	return caller
}

func (h Hooks) explain(e *think.Engine) tool[think.ExplainInput, any] {
	return func(ctx context.Context, call engines.Call, in think.ExplainInput) (any, error) {
		in.Caller = h.caller(ctx, call, think.Asked{Tool: "think.explain", Workflow: in.Workflow, Run: in.RunID, Step: in.StepID})
		found, err := e.ExplainAny(ctx, in)
		if run, is := found.(*think.RunExplanation); is && err == nil && h.Rulings != nil {
			refusals, err := h.Rulings.RefusedIn(call, run.Workflow, run.RunID)
			if err != nil {
				return nil, err
			}
			run.Ruled(refusals)
		}
		return found, err
	}
}

func (h Hooks) reset(e *think.Engine) tool[think.ResetInput, *think.ResetOutput] {
	return func(ctx context.Context, call engines.Call, in think.ResetInput) (*think.ResetOutput, error) {
		in.Caller = h.caller(ctx, call, think.Asked{Tool: "think.reset", Workflow: in.Workflow, Run: in.RunID})
		return e.Reset(ctx, in)
	}
}

func (h Hooks) stateGet(e *think.Engine) tool[think.StateGetInput, *think.StateGet] {
	return func(ctx context.Context, call engines.Call, in think.StateGetInput) (*think.StateGet, error) {
		in.Caller = h.caller(ctx, call, think.Asked{Tool: "think.state.get", Workflow: in.Workflow, Run: in.RunID})
		return e.StateGet(ctx, in)
	}
}

func debug(e *think.Engine) tool[audit.DebugInput, *audit.DebugOutput] {
	auditor := audit.New(e)
	return func(ctx context.Context, call engines.Call, in audit.DebugInput) (*audit.DebugOutput, error) {
		in.Caller = Caller(call)
		return auditor.Debug(ctx, in)
	}
}

func driverPromptOf(e *think.Engine) tool[library.DriverPromptInput, *library.DriverPrompt] {
	return func(ctx context.Context, _ engines.Call, in library.DriverPromptInput) (*library.DriverPrompt, error) {
		return e.Library.DriverPrompt(ctx, in)
	}
}
