package agent

import (
	"bytes"
	"slices"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// loop begins each step.
func (r *Run) loop(t turn) (turn, Signal, error) {
	if t.index >= r.options.MaxSteps {
		t.outcome = outcome{Status: StatusMaxSteps, Final: r.summary(),
			Warning: "the limit of steps was reached before the goal; this is what was found"}
		return t, exhausted, nil
	}
	return t, ask, nil
}

// decide asks the Reasoning API for the next intent and appends it to the journal
// before acting on it.
func (r *Run) decide(t turn) (turn, Signal, error) {
	t = turn{index: t.index + 1}
	began := r.runtime.options.Now()
	intent, calls, err := r.ask(t)
	took := r.runtime.options.Now().Sub(began)
	if err != nil {
		r.recordCalls(t.index, calls, r.keepExchanges(calls))
		r.update(func(report *Report) { report.Spent.Add(r.spentOnAll(calls)) })
		if r.ctx.Err() != nil {
			return t, canceled, nil
		}
		t.intent = reasoning.Intent{Action: reasoning.ActionError, Error: err.Error()}
		r.recordDecision(t, took)
		return t, failed, err
	}
	t = newTurn(t.index, r.cleanIntent(intent), nil)
	t.spent = r.spentOnAll(calls)
	kept := r.keepExchanges(calls)
	t.models = r.modelsOf(calls)
	t.exchanges = slices.DeleteFunc(slices.Clone(kept), func(digest string) bool { return digest == "" })
	if err := r.appendDecision(t); err != nil {
		return t, failed, err
	}
	r.recordPrompt(t)
	r.recordCalls(t.index, calls, kept)
	r.recordDecision(t, took)
	r.update(func(report *Report) { report.add(t.intent, t.spent) })
	return r.follow(t)
}

// ask asks the Reasoning API within a span of the run's trace. It also returns the
// model calls behind the answer.
func (r *Run) ask(t turn) (reasoning.Intent, []reasoning.ModelCall, error) {
	wrote, flush := r.wrote(t.index)
	observed := reasoning.NewObserved(wrote)
	ctx, end := r.runtime.options.Recorder.Span(r.ctx, telemetry.Event{Type: telemetry.ReasoningStep, RunID: r.ID(), Step: t.index})
	intent, err := r.runtime.options.Decider.Decide(ctx, r.request(t.index), observed)
	flush()
	ended := telemetry.Event{RunID: r.ID(), Step: t.index, Action: string(intent.Action), Model: intent.Model,
		PromptTokens: intent.PromptTokens, OutputTokens: intent.OutputTokens}
	if err != nil {
		ended.Error = failure(err)
	}
	end(ended)
	return intent, observed.Calls(), err
}

// cleanIntent redacts a decision, because it is stored, shown and sent back, and makes
// its tool names canonical. Only the runtime may name the model "forced".
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
	if intent.Model == forcedBy {
		intent.Model = ""
	}
	return intent
}

func (r *Run) canonical(name string) string {
	if tool, known := find(r.runtime.options.Toolbox.Tools(), name); known {
		return tool.Name
	}
	return r.runtime.redactor.Text(name)
}

// follow returns the signal of a decision. It sets the outcome if the decision ends the
// run.
func (r *Run) follow(t turn) (turn, Signal, error) {
	switch t.intent.Action {
	case reasoning.ActionTool:
		return t, tool, nil
	case reasoning.ActionReason:
		return t, reason, nil
	case reasoning.ActionFinish:
		r.remember(t.step())
		t.outcome = outcome{Status: StatusOK, Final: t.intent.Final}
		return t, finish, nil
	}
	r.remember(t.step())
	t.outcome.Final = t.intent.Final // also on an error: the partial result
	return t, failed, fault.New(fault.GaveUp, "%s", t.intent.Error)
}

// milliseconds converts a duration for events and calls.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

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
		offered = append(offered, reasoning.Tool{Name: each.Name, Title: each.Title, Description: each.Description, InputSchema: each.InputSchema(),
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
