package agent

import (
	"fmt"
	"slices"
	"strings"

	"savant/agent/memory"
)

// A run is stuck when the same step is made sameSteps times in a row,
// two steps alternate alternations times, or fruitlessSteps steps in a row call
// nothing that works.
const (
	sameSteps      = 3
	alternations   = 3
	fruitlessSteps = 6
	maxTraces      = 6 // the most that a check looks at
)

// trace is what the agent needs of a step to notice that it is stuck.
type trace struct {
	done string // what was done and what came of it
	what string
	// fruitless: nothing was called, or every call failed.
	fruitless bool
}

func traceOf(step memory.Step) trace {
	made := trace{what: step.Action, fruitless: true}
	parts := []string{step.Action}
	if len(step.Calls) == 0 {
		parts = append(parts, step.Reasoning)
	}
	for _, each := range step.Calls {
		made.what = each.Tool
		parts = append(parts, each.Tool, string(each.Args), string(each.Output))
		if each.Error != nil {
			parts = append(parts, each.Error.Error())
			continue
		}
		made.fruitless = false
	}
	made.done = strings.Join(parts, "\x00")
	return made
}

// stuckBecause returns why the agent is stuck after these steps, or "" if it is not.
func stuckBecause(traces []trace) string {
	count := len(traces)
	switch {
	case count >= sameSteps && repeats(traces[count-sameSteps:], 1):
		return fmt.Sprintf("the same step was taken %d times with the same result (%s)", sameSteps, traces[count-1].what)
	case count >= 2*alternations && repeats(traces[count-2*alternations:], 2):
		return fmt.Sprintf("two steps alternated %d times with the same results (%s, %s)", alternations, traces[count-2].what, traces[count-1].what)
	case count >= fruitlessSteps && !slices.ContainsFunc(traces[count-fruitlessSteps:], func(t trace) bool { return !t.fruitless }):
		return fmt.Sprintf("no call of the last %d steps succeeded", fruitlessSteps)
	}
	return ""
}

// almostStuck reports whether one more such step would make the run stuck. The next
// question then says so and goes to the large model.
func almostStuck(traces []trace) bool {
	count := len(traces)
	return count >= sameSteps-1 && repeats(traces[count-sameSteps+1:], 1) ||
		count >= 2*alternations-2 && repeats(traces[count-2*alternations+2:], 2) ||
		count >= fruitlessSteps-2 && !slices.ContainsFunc(traces[count-fruitlessSteps+2:], func(t trace) bool { return !t.fruitless })
}

// repeats reports whether each step equals the one period steps before.
func repeats(traces []trace, period int) bool {
	for i := period; i < len(traces); i++ {
		if traces[i].done != traces[i-period].done {
			return false
		}
	}
	return true
}
