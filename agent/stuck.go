package agent

import (
	"fmt"
	"slices"

	"savant/agent/memory"
	"savant/internal/jsonvalue"
)

// When a run makes no progress: the same step this often in a row, two steps
// in turns this often, steps this often in a row that only reason or fail.
const (
	sameSteps  = 3
	alternated = 3
	fruitless  = 6
)

// trace is what stuck detection keeps of a step.
type trace struct {
	// digest is of what was done and what came of it.
	digest string
	what   string
	// vain: nothing was called, or every call failed.
	vain bool
}

func traceOf(step memory.Step) trace {
	made := trace{what: step.Action, vain: true}
	parts := []any{step.Action}
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
		made.vain = false
	}
	digest, err := jsonvalue.Digest(parts)
	if err != nil {
		digest = fmt.Sprint(parts...)
	}
	made.digest = digest
	return made
}

// unfruitful returns why the last steps show no progress, or "".
func unfruitful(traces []trace) string {
	last := func(count int) []trace { return traces[len(traces)-count:] }
	if len(traces) >= sameSteps {
		same := last(sameSteps)
		if !slices.ContainsFunc(same, func(t trace) bool { return t.digest != same[0].digest }) {
			return fmt.Sprintf("the same step was made %d times with the same result (%s)", sameSteps, same[0].what)
		}
	}
	if len(traces) >= 2*alternated {
		turns := last(2 * alternated)
		if alternate(turns) {
			return fmt.Sprintf("two steps were made in turns %d times with the same results (%s, %s)", alternated, turns[0].what, turns[1].what)
		}
	}
	if len(traces) >= fruitless && !slices.ContainsFunc(last(fruitless), func(t trace) bool { return !t.vain }) {
		return fmt.Sprintf("the last %d steps called nothing that worked", fruitless)
	}
	return ""
}

func alternate(turns []trace) bool {
	for i := range turns {
		if turns[i].digest != turns[i%2].digest {
			return false
		}
	}
	return true
}
