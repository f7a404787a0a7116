package agent

import (
	"fmt"
	"slices"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
)

// turn is one step on its way through the states: each state takes a turn and
// returns the next one. What outlives the step is in Run.
type turn struct {
	index  int
	intent reasoning.Intent
	asked  []asked       // the calls still to be made
	done   []memory.Call // the calls by number; those still to be made are empty
	// cost is what the decision cost; nil where that is not known.
	cost *float64
	// outcome is how the run ends; it has no status while the run goes on.
	outcome outcome
}

// asked is a call that a decision asks for. Once made it is a memory.Call.
type asked struct {
	reasoning.Call
	step, number int
	// forced: nobody decided on this call; somebody ordered it, or the goal led to it.
	forced bool
	// incomplete: the run was resumed, and the journal does not hold all
	// arguments of the call.
	incomplete bool
	// uncertain: the call was begun by a process that was lost, and nobody knows what
	// came of it.
	uncertain bool
	// absent is why nobody has the tool; nil where somebody has it, or where that
	// was not asked.
	absent error
}

// id names a call within its run: step 2, first call is 2.1.
func (a asked) id() string { return fmt.Sprintf("%d.%d", a.step, a.number+1) }

// outcome is how a run ends.
type outcome struct {
	Status  Status       `json:"status"`
	Final   string       `json:"final,omitempty"`
	Warning string       `json:"warning,omitempty"`
	Error   *fault.Error `json:"error,omitempty"`
}

// newTurn returns the turn of a decision with all of its calls still to be made.
// incomplete has the numbers of those whose arguments are not all known.
func newTurn(index int, intent reasoning.Intent, incomplete []int) turn {
	calls := intent.AllCalls()
	t := turn{index: index, intent: intent, done: make([]memory.Call, len(calls))}
	for i, each := range calls {
		t.asked = append(t.asked, asked{Call: each, step: index, number: i,
			forced: intent.Model == forcedBy, incomplete: slices.Contains(incomplete, i)})
	}
	return t
}

// step returns the step that memory holds of a turn. When policy denied every
// call nothing was done: it is a step that only reasons.
func (t turn) step() memory.Step {
	step := memory.Step{Index: t.index, Action: string(t.intent.Action), Reasoning: t.intent.Reasoning, Final: t.intent.Final, Error: t.intent.Error, Calls: t.done}
	if len(t.done) > 0 && !slices.ContainsFunc(t.done, func(c memory.Call) bool { return c.Rule == "" }) {
		step.Action = string(reasoning.ActionReason)
	}
	return step
}
