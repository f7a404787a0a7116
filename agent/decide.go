package agent

import (
	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
)

// loop is where each step begins.
func (r *Run) loop() (Signal, error) {
	if r.index >= r.order.MaxSteps {
		r.outcome = outcome{Status: StatusMaxSteps, Final: r.told(),
			Warning: "the limit of steps was reached before the goal was; this is what was found"}
		return exhausted, nil
	}
	return ask, nil
}

// decide asks what to do, and keeps the answer before anything follows from it.
func (r *Run) decide() (Signal, error) {
	r.begin(r.index + 1)
	stop := r.saveWhileAsking()
	asked := r.runtime.options.Now()
	intent, err := r.question()
	stop()
	r.asked = r.runtime.options.Now().Sub(asked)
	if err != nil {
		if r.ctx.Err() != nil {
			return canceled, nil
		}
		r.recordStep(reasoning.Intent{Action: reasoning.ActionError, Error: err.Error()})
		return failed, err
	}
	r.intent = r.cleanIntent(intent)
	if r.intent.Model == forcedBy { // nobody else speaks for the order
		r.intent.Model = ""
	}
	if err := r.keepDecision(); err != nil {
		return failed, err
	}
	return r.follow()
}

// begin makes a step the current one.
func (r *Run) begin(index int) {
	r.index, r.calls, r.pending, r.withheld, r.step = index, nil, nil, nil, memory.Step{}
}

// follow tells of a decision and says what it leads to.
func (r *Run) follow() (Signal, error) {
	r.recordStep(r.intent)
	r.update(func(report *Report) {
		report.Model = r.intent.Model
		report.PromptTokens += r.intent.PromptTokens
		report.OutputTokens += r.intent.OutputTokens
	})
	switch r.intent.Action {
	case reasoning.ActionTool:
		r.prepare()
		return tool, nil
	case reasoning.ActionReason:
		return reason, nil
	case reasoning.ActionFinish:
		r.remember(memory.Step{Index: r.index, Action: string(reasoning.ActionFinish), Reasoning: r.intent.Reasoning})
		r.outcome = outcome{Status: StatusOK, Final: r.intent.Final}
		return finish, nil
	}
	r.remember(memory.Step{Index: r.index, Action: string(reasoning.ActionError), Reasoning: r.intent.Reasoning})
	return failed, fault.New(fault.ReasoningUnavailable, "nothing could be decided: %s", r.intent.Error)
}

// prepare lists the calls that a decision asks for.
func (r *Run) prepare() {
	r.calls = make([]memory.Call, len(r.intent.AllCalls()))
	r.pending = make([]bool, len(r.calls))
	for i := range r.pending {
		r.pending[i] = true
	}
}

// reason remembers a thought.
func (r *Run) reason() (Signal, error) {
	r.step = memory.Step{Index: r.index, Action: string(reasoning.ActionReason), Reasoning: r.intent.Reasoning}
	return done, nil
}
