package agent

import (
	"fmt"
	"strings"

	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// newGoal is the record of a new goal for a run that had ended or was interrupted.
type newGoal struct {
	Goal string `json:"goal"`
	// MaxSteps is the new limit of decisions, including those before the goal.
	MaxSteps int    `json:"max_steps"`
	Time     string `json:"time"`
	telemetry.Who
}

// exchange is an earlier goal of a run and what it came to.
type exchange struct{ goal, final string }

// follow applies a new goal to the history.
func (h *history) follow(next newGoal) {
	earlier := exchange{goal: h.options().Goal}
	if h.ended != nil {
		earlier.final = h.ended.Final
	}
	h.earlier = append(h.earlier, earlier)
	h.goals, h.ended, h.turnedAt = append(h.goals, next), nil, len(h.decisions)
}

// options are the current ones. Forced tools and workflows applied to the first goal
// only.
func (h *history) options() RunOptions {
	options := h.started.Options
	if len(h.goals) == 0 {
		return options
	}
	last := h.goals[len(h.goals)-1]
	options.Goal, options.MaxSteps, options.Who = last.Goal, last.MaxSteps, last.Who
	options.ForceTool, options.ForceArgs, options.ForceFinish, options.Workflow = "", nil, false, ""
	return options
}

// lastStep is the number of the last decision.
func (h *history) lastStep() int {
	if len(h.decisions) == 0 {
		return 0
	}
	return h.decisions[len(h.decisions)-1].Step
}

// nextGoal validates a new goal for a run.
func (r *Runtime) nextGoal(goal string, h *history, maxSteps int) (newGoal, error) {
	if maxSteps == 0 {
		maxSteps = r.options.MaxSteps
	}
	if maxSteps == 0 {
		maxSteps = DefaultMaxSteps
	}
	next := newGoal{Goal: r.redactor.Text(strings.TrimSpace(goal)), MaxSteps: h.lastStep() + maxSteps, Time: stamp(r.options.Now())}
	if len(next.Goal) > maxGoal {
		return next, invalid("goal", "it is longer than 20,000 bytes; put the details into a file and name the file")
	}
	if next.MaxSteps > maxMaxSteps {
		return next, invalid("max_steps", fmt.Sprintf("the run already has %d steps, and %d are the maximum; start a new run", h.lastStep(), maxMaxSteps))
	}
	return next, nil
}

// A question repeats at most this many earlier exchanges, with this many bytes of each
// text.
const (
	maxExchanges = 5
	maxExchanged = 1500
)

// question is the goal as the Reasoning API reads it, with the earlier goals and
// answers of the run.
func (r *Run) question() string {
	if len(r.earlier) == 0 {
		return r.options.Goal
	}
	var out strings.Builder
	out.WriteString(r.options.Goal + reasoning.EarlierMark)
	for _, each := range r.earlier[max(0, len(r.earlier)-maxExchanges):] {
		fmt.Fprintf(&out, "\n- Asked: %s", fault.Cut(each.goal, maxExchanged))
		if each.final != "" {
			fmt.Fprintf(&out, "\n  Answered: %s", fault.Cut(each.final, maxExchanged))
		}
	}
	return out.String()
}
