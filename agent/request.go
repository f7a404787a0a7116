package agent

import (
	"bytes"
	"slices"

	"savant/agent/memory"
	"savant/engines"
	"savant/reasoning"
)

// request is the question of a step.
func (r *Run) request(step int) reasoning.Request {
	left := r.options.MaxSteps - step + 1
	offered := r.offered()
	brief := r.briefing
	triggered := make([]reasoning.Rule, len(brief.rules))
	for i, each := range brief.rules {
		triggered[i] = reasoning.Rule{Name: each.Name, Workflow: each.Workflow}
	}
	return reasoning.Request{
		SessionID: r.ID(), RunID: r.ID(), Step: step, Goal: r.options.Goal,
		Persona: brief.persona, Driver: brief.prompts.Driver, Rules: triggered, Repo: brief.repo, Tools: offered,
		Policy: reasoning.Policy{Model: r.options.Model, ReadOnly: r.guard.policy.ReadOnly, NoTools: len(offered) == 0,
			MustFinish: left == 1 && r.options.MaxSteps > 1, Notes: r.recent.notes},
		Memory: r.remembered(), LastOutput: outcomes(r.recent.calls),
		Limits: reasoning.Limits{MaxSteps: r.options.MaxSteps, StepsLeft: left, MaxCalls: reasoning.MaxCalls,
			TimeoutMS: r.runtime.options.TimeoutMS},
	}
}

// catalog is what a run offers of the tools there are. With 200 tools it takes
// longer to make than the rest of a step, so it is made again only when the tools
// changed.
type catalog struct {
	of      []engines.Tool
	offered []reasoning.Tool
}

// offered returns the tools that policy allows.
func (r *Run) offered() []reasoning.Tool {
	tools := r.runtime.options.Toolbox.Tools()
	if r.catalog.offered != nil && slices.EqualFunc(tools, r.catalog.of, sameTool) {
		return r.catalog.offered
	}
	r.catalog = catalog{of: tools, offered: []reasoning.Tool{}}
	for _, each := range r.guard.allowed(slices.Clone(tools), false) {
		r.catalog.offered = append(r.catalog.offered, reasoning.Tool{Name: each.Name, Title: each.Title, Description: each.Description, InputSchema: each.Input,
			ReadOnly: each.ReadOnly, Destructive: each.Destructive, Idempotent: each.Idempotent})
	}
	return r.catalog.offered
}

// sameTool compares what is offered of tools.
func sameTool(a, b engines.Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && bytes.Equal(a.Input, b.Input) &&
		a.ReadOnly == b.ReadOnly && a.Destructive == b.Destructive && a.Idempotent == b.Idempotent
}

// remembered is the memory as the Reasoning API reads it.
func (r *Run) remembered() reasoning.Memory {
	view := r.session.View()
	steps := make([]reasoning.Step, len(view.Steps))
	for i, each := range view.Steps {
		steps[i] = reasoning.Step{Index: each.Index, Action: reasoning.Action(each.Action), Reasoning: each.Reasoning, Outcomes: outcomes(each.Calls)}
	}
	return reasoning.Memory{Summary: view.Summary, Omitted: view.Omitted, Steps: steps}
}

// outcomes are calls as the Reasoning API reads them.
func outcomes(calls []memory.Call) []reasoning.Outcome {
	made := make([]reasoning.Outcome, len(calls))
	for i, each := range calls {
		made[i] = reasoning.Outcome{ToolName: each.Tool, Args: each.Args, Result: each.Output, Cut: each.Cut, Error: each.Error}
		if !bytes.HasPrefix(each.Args, []byte("{")) { // they were truncated, so they are no object any more
			made[i].Args = nil
		}
	}
	return made
}
