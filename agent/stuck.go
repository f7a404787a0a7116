package agent

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"savant/agent/memory"
	"savant/engines"
)

// A run is stuck when the same step, or two alternating ones, came to the same fresh
// result freshRepeats times, or to any localRepeats times, a result from the cache too; and
// when fruitlessSteps steps in a row call nothing that works. What tools of the open world
// say changes by itself, so they may be asked openRepeats times, and for openPatience.
const (
	freshRepeats   = 3
	localRepeats   = 6
	openRepeats    = 5
	openPatience   = 10 * time.Second
	fruitlessSteps = 6
)

// trace is what the agent needs of a step to notice that it is stuck.
type trace struct {
	done [sha256.Size]byte // the digest of what was done and what came of it
	what string
	// fruitless: nothing was called, or every call failed. fresh: something was done, and
	// not only read from the cache. open: a tool of the open world was called.
	fruitless, fresh, open bool
	at                     time.Time
}

func traceOf(step memory.Step, tools []engines.Tool, at time.Time) trace {
	made := trace{what: step.Action, fruitless: true, fresh: len(step.Calls) == 0, at: at}
	parts := []string{step.Action}
	if len(step.Calls) == 0 {
		parts = append(parts, step.Reasoning)
	}
	for _, each := range step.Calls {
		tool, _ := find(tools, each.Tool)
		made.what, made.fresh, made.open = each.Tool, made.fresh || !each.Cached, made.open || outside(tool)
		parts = append(parts, each.Tool, string(each.Args), string(each.Output))
		if each.Error != nil {
			parts = append(parts, each.Error.Error())
			continue
		}
		made.fruitless = false
	}
	made.done = sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return made
}

// outside reports whether what a tool says may change without the agent.
func outside(tool engines.Tool) bool { return tool.OpenWorld || tool.Mounted }

// stuckBecause returns why the agent is stuck after these steps, or "" if it is not. last:
// the limit of steps is near, so nothing more is waited for.
func stuckBecause(traces []trace, last bool) string {
	count := len(traces)
	if same := repetitionOf(traces, 1); same.stuck(last) {
		return fmt.Sprintf("the same step was taken %d times with the same result (%s)", same.times(), traces[count-1].what)
	}
	if same := repetitionOf(traces, 2); same.stuck(last) {
		return fmt.Sprintf("two steps alternated %d times with the same results (%s, %s)", same.times(), traces[count-2].what, traces[count-1].what)
	}
	if failed := fruitless(traces); failed.steps >= fruitlessSteps && (last || failed.waited()) {
		return fmt.Sprintf("no call of the last %d steps succeeded", failed.steps)
	}
	return ""
}

// almostStuck reports whether one more such step would make the run stuck, or nearly so.
// The next question then says so and goes to the large model.
func almostStuck(traces []trace) bool {
	return repetitionOf(traces, 1).isClose() || repetitionOf(traces, 2).isClose() || fruitless(traces).steps >= fruitlessSteps-2
}

// repetition is the end of a run that takes the same steps again, period of them in turn.
type repetition struct {
	period, steps, fresh int
	open                 bool
	over                 time.Duration
}

func repetitionOf(traces []trace, period int) repetition {
	first := len(traces) - 1
	for first >= period && traces[first].done == traces[first-period].done {
		first--
	}
	return repetitionIn(traces[max(0, first-period+1):], period)
}

func fruitless(traces []trace) repetition {
	first := len(traces)
	for first > 0 && traces[first-1].fruitless {
		first--
	}
	return repetitionIn(traces[first:], 1)
}

func repetitionIn(traces []trace, period int) repetition {
	r := repetition{period: period, steps: len(traces)}
	for _, each := range traces {
		r.open, r.over = r.open || each.open, each.at.Sub(traces[0].at)
		if each.fresh {
			r.fresh++
		}
	}
	return r
}

func (r repetition) times() int { return r.steps / r.period }

// waited reports whether what is outside had time to change.
func (r repetition) waited() bool { return !r.open || r.over >= openPatience }

func (r repetition) stuck(last bool) bool {
	switch {
	case last && r.times() >= freshRepeats:
		return true
	case r.open:
		return r.fresh >= openRepeats*r.period && r.waited()
	}
	return r.fresh >= freshRepeats*r.period || r.times() >= localRepeats
}

func (r repetition) isClose() bool {
	if r.open {
		return r.fresh >= (openRepeats-1)*r.period
	}
	return r.times() >= freshRepeats-1
}
