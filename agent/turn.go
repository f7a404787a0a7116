package agent

import (
	"fmt"
	"slices"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
)

// turn is the data of one step: each state takes a turn and returns the next one. Run
// holds what outlives the step.
type turn struct {
	index  int
	intent reasoning.Intent
	asked  []requestedCall // the calls still to be made
	done   []memory.Call   // the calls by number; those still to be made are empty
	// spent is the cost of the decision.
	spent engines.Spent
	// exchanges are the digests of what models were asked and wrote for the decision.
	exchanges []string
	// models are those that were asked for the decision.
	models []usedModel
	// outcome is how the run ends; it has no status while the run goes on.
	outcome outcome
}

// requestedCall is a call that a decision asks for. Once made it is a memory.Call.
type requestedCall struct {
	reasoning.Call
	step, number int
	// model is the one that decided it.
	model string
	// forced: the call was ordered or selected by the goal, not decided by the Reasoning
	// API.
	forced bool
	// incomplete: the run was resumed, and its journal lacks arguments of the call.
	incomplete bool
	// uncertain: a process that was lost began the call, so its effect is unknown.
	uncertain bool
	// absent is the error of Seek for an unknown tool; nil if the tool exists or Seek was
	// not called.
	absent error
}

// id names a call within its run: step 2, first call is 2.1.
func (a requestedCall) id() string { return fmt.Sprintf("%d.%d", a.step, a.number+1) }

// outcome is how a run ends.
type outcome struct {
	Status  Status       `json:"status"`
	Final   string       `json:"final,omitempty"`
	Warning string       `json:"warning,omitempty"`
	Error   *fault.Error `json:"error,omitempty"`
	// What the models of the workflow took that the run was.
	PromptTokens int `json:"prompt_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	engines.Spent
}

// newTurn returns the turn of a decision before its calls. incomplete has the numbers
// of the calls with missing arguments.
func newTurn(index int, intent reasoning.Intent, incomplete []int) turn {
	calls := intent.AllCalls()
	t := turn{index: index, intent: intent, done: make([]memory.Call, len(calls))}
	for i, each := range calls {
		t.asked = append(t.asked, requestedCall{Call: each, step: index, number: i, model: intent.Model,
			forced: intent.Model == forcedBy, incomplete: slices.Contains(incomplete, i)})
	}
	return t
}

// step converts a turn for memory. If policy denied every call, it is a reasoning step.
func (t turn) step() memory.Step {
	step := memory.Step{Index: t.index, Action: string(t.intent.Action), Reasoning: t.intent.Reasoning, Final: t.intent.Final, Error: t.intent.Error, Calls: t.done}
	if len(t.done) > 0 && !slices.ContainsFunc(t.done, func(c memory.Call) bool { return c.Rule == "" }) {
		step.Action = string(reasoning.ActionReason)
	}
	return step
}
