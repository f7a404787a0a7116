package agent

import (
	"bytes"
	"slices"
	"strings"

	"savant/agent/memory"
	"savant/engines"
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

// offer is what a run was offered of some tools. With many tools it takes longer
// to make than a step does.
type offer struct {
	of   []engines.Tool
	made []reasoning.Tool
}

// offered are the tools that policy lets through: those of the step before while
// there are the same tools. It is asked for in one state alone, so the policy is
// the same, too.
func (r *Run) offered() []reasoning.Tool {
	tools := r.runtime.options.Toolbox.Tools()
	if r.offer.made != nil && slices.EqualFunc(tools, r.offer.of, sameTool) {
		return r.offer.made
	}
	r.offer = offer{of: tools, made: []reasoning.Tool{}}
	for _, each := range tools {
		if r.box.denies(each) == "" {
			r.offer.made = append(r.offer.made, reasoning.Tool{Name: each.Name, Title: each.Title, Description: each.Description, InputSchema: each.Input,
				ReadOnly: each.ReadOnly, Destructive: each.Destructive, Idempotent: each.Idempotent})
		}
	}
	return r.offer.made
}

// sameTool compares what is offered of tools.
func sameTool(a, b engines.Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && bytes.Equal(a.Input, b.Input) &&
		a.ReadOnly == b.ReadOnly && a.Destructive == b.Destructive && a.Idempotent == b.Idempotent
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
		if !bytes.HasPrefix(each.Args, []byte("{")) { // those that were cut are an object no more
			made[i].Args = nil
		}
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
