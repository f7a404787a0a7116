package agent

import (
	"slices"
	"strings"

	"savant/agent/memory"
	"savant/reasoning"
)

// request is the question of the step that begins.
func (r *Run) request() reasoning.Request {
	left := r.order.MaxSteps - r.index + 1
	offered := r.offered()
	return reasoning.Request{
		SessionID: r.ID(), RunID: r.ID(), Step: r.index, Goal: r.order.Goal,
		Persona: r.persona, Driver: r.prompts.Driver, Rules: r.met(), Repo: r.repo, Tools: offered,
		Policy: reasoning.Policy{Model: r.order.Model, ReadOnly: r.box.policy.ReadOnly, NoTools: len(offered) == 0,
			MustFinish: left == 1 && r.order.MaxSteps > 1, Notes: r.notes},
		Memory: r.remembered(), LastOutput: outcomes(r.last, true),
		Limits: reasoning.Limits{MaxSteps: r.order.MaxSteps, StepsLeft: left, MaxCalls: reasoning.MaxCalls,
			TimeoutMS: r.runtime.options.TimeoutMS},
	}
}

func (r *Run) met() []reasoning.Rule {
	met := make([]reasoning.Rule, len(r.rules))
	for i, each := range r.rules {
		met[i] = reasoning.Rule{Name: each.Name, Workflow: each.Workflow}
	}
	return met
}

// offered are the tools that policy lets through.
func (r *Run) offered() []reasoning.Tool {
	tools := r.box.Tools()
	offered := make([]reasoning.Tool, len(tools))
	for i, each := range tools {
		offered[i] = reasoning.Tool{Name: each.Name, Title: each.Title, Description: each.Description, InputSchema: each.Input,
			ReadOnly: each.ReadOnly, Destructive: each.Destructive, Idempotent: each.Idempotent}
	}
	return offered
}

// remembered is the memory as the Reasoning API reads it.
func (r *Run) remembered() reasoning.Memory {
	shown := r.session.View()
	kept := reasoning.Memory{Summary: shown.Summary, Omitted: shown.Omitted, Steps: make([]reasoning.Step, len(shown.Steps))}
	for i, each := range shown.Steps {
		kept.Steps[i] = reasoning.Step{Index: each.Index, Action: reasoning.Action(each.Action), Reasoning: each.Reasoning,
			Outcomes: outcomes(each.Calls, false)}
	}
	return kept
}

// outcomes are calls as the Reasoning API reads them; never nil where always.
func outcomes(calls []memory.Call, always bool) []reasoning.Outcome {
	if len(calls) == 0 && !always {
		return nil
	}
	made := make([]reasoning.Outcome, len(calls))
	for i, each := range calls {
		made[i] = reasoning.Outcome{ToolName: each.Tool, Args: each.Args, Result: each.Output, Cut: each.Cut, Error: each.Error}
	}
	return made
}

// cleanIntent returns a decision without secrets, since it is kept, shown and
// sent back, and with the canonical names of tools.
func (r *Run) cleanIntent(intent reasoning.Intent) reasoning.Intent {
	intent.Calls = slices.Clone(intent.Calls)
	intent.ToolName = r.canonical(intent.ToolName)
	for i := range intent.Calls {
		intent.Calls[i].ToolName = r.canonical(intent.Calls[i].ToolName)
	}
	clean := r.runtime.redactor
	for _, text := range []*string{&intent.Final, &intent.Reasoning, &intent.Error, &intent.Model} {
		*text = clean.Text(*text)
	}
	return intent
}

func (r *Run) canonical(name string) string {
	if tool, known := find(r.runtime.options.Toolbox.Tools(), name); known {
		return tool.Name
	}
	return r.runtime.redactor.Text(name)
}

// told is what a run that ends without an answer says it did.
func (r *Run) told() string {
	summary := r.session.Summary()
	if strings.TrimSpace(summary) == "" {
		return "No answer was reached, and nothing was done."
	}
	return "No answer was reached. What was done:\n" + summary
}
