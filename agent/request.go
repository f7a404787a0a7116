package agent

import (
	"bytes"

	"savant/agent/memory"
	"savant/reasoning"
)

// request is the question of a step.
func (r *Run) request(step int) reasoning.Request {
	left := r.options.MaxSteps - step + 1
	offered := r.offered()
	brief := r.briefing
	triggered := make([]reasoning.Rule, len(brief.rules))
	for i, each := range brief.rules {
		triggered[i] = reasoning.Rule{Name: each.Name, Workflow: each.Workflow, Complex: each.Complex}
	}
	return reasoning.Request{
		SessionID: r.ID(), RunID: r.ID(), Step: step, Goal: r.question(),
		Persona: brief.persona, Driver: brief.prompts.Driver, Rules: triggered, Repo: brief.repo, Tools: offered,
		Policy: reasoning.Policy{Model: r.options.Model, ReadOnly: r.guard.policy.ReadOnly, NoTools: len(offered) == 0,
			MustFinish: left == 1 && r.options.MaxSteps > 1, Stuck: almostStuck(r.recent.traces), Notes: r.recent.notes},
		Memory: r.memory(), LastOutput: outcomes(r.recent.calls),
		Limits: reasoning.Limits{MaxSteps: r.options.MaxSteps, StepsLeft: left, MaxCalls: reasoning.MaxCalls,
			TimeoutMS: r.runtime.options.TimeoutMS},
	}
}

// offered returns the tools that policy allows.
func (r *Run) offered() []reasoning.Tool {
	offered := []reasoning.Tool{}
	for _, each := range r.guard.allowed(r.runtime.options.Toolbox.Tools()) {
		offered = append(offered, reasoning.Tool{Name: each.Name, Title: each.Title, Description: each.Description, InputSchema: each.Input,
			ReadOnly: each.ReadOnly, Destructive: each.Destructive, Idempotent: each.Idempotent})
	}
	return offered
}

// memory converts the memory for the Reasoning API.
func (r *Run) memory() reasoning.Memory {
	view := r.session.View()
	steps := make([]reasoning.Step, len(view.Steps))
	for i, each := range view.Steps {
		steps[i] = reasoning.Step{Index: each.Index, Action: reasoning.Action(each.Action), Reasoning: each.Reasoning, Outcomes: outcomes(each.Calls)}
	}
	return reasoning.Memory{Summary: view.Summary, Omitted: view.Omitted, Steps: steps}
}

// outcomes converts calls for the Reasoning API.
func outcomes(calls []memory.Call) []reasoning.Outcome {
	made := make([]reasoning.Outcome, len(calls))
	for i, each := range calls {
		made[i] = reasoning.Outcome{ToolName: each.Tool, Args: each.Args, Result: each.Output, Cut: each.Cut, Error: each.Error}
		if !bytes.HasPrefix(each.Args, []byte("{")) { // truncated arguments are a string, not an object
			made[i].Args = nil
		}
	}
	return made
}
