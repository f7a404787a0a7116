package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
)

// A step counts by its fresh result; what the open world says may be asked for a while,
// and an endless repeat ends before the limit of steps.
func TestWhatIsStuck(t *testing.T) {
	tools := []engines.Tool{{Name: "git.status", ReadOnly: true}, {Name: "web.get", ReadOnly: true, OpenWorld: true}, {Name: "jira.get", ReadOnly: true, Mounted: true}}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	steps := func(pause time.Duration, calls ...memory.Call) (traces []trace) {
		for i, call := range calls {
			traces = append(traces, traceOf(memory.Step{Action: "tool", Calls: []memory.Call{call}}, tools, begin.Add(time.Duration(i)*pause)))
		}
		return traces
	}
	repeat := func(times int, calls ...memory.Call) (all []memory.Call) {
		for range times {
			all = append(all, calls...)
		}
		return all
	}
	local := memory.Call{Tool: "git.status", Output: json.RawMessage(`{}`)}
	cached := local
	cached.Cached = true
	open, mounted := memory.Call{Tool: "web.get", Output: json.RawMessage(`"pending"`)}, memory.Call{Tool: "jira.get", Output: json.RawMessage(`"pending"`)}
	broken := memory.Call{Tool: "web.get", Error: fault.New(fault.ToolFailed, "refused")}
	changed := memory.Call{Tool: "git.status", Output: json.RawMessage(`{"clean":false}`)}
	for _, c := range []struct {
		name  string
		steps []trace
		last  bool
		stuck bool
	}{
		{"three fresh results", steps(0, local, local, local), false, true},
		{"a cached result between is not fresh", steps(0, local, cached, local, cached), false, false},
		{"three fresh ones among cached ones", steps(0, local, cached, local, cached, local), false, true},
		{"the result changed", steps(0, local, local, changed, local, local), false, false},
		{"an endless repeat from the cache", steps(0, append(repeat(5, cached), cached)...), false, true},
		{"two in turns", steps(0, repeat(3, local, changed)...), false, true},
		{"two in turns, from the cache", steps(0, append([]memory.Call{local, changed}, repeat(2, cached, changed)...)...), false, false},
		{"the open world in a moment", steps(time.Second, repeat(9, open)...), false, false},
		{"the open world over 10 s", steps(2500*time.Millisecond, repeat(5, open)...), false, true},
		{"the open world four times over a minute", steps(20*time.Second, repeat(4, open)...), false, false},
		{"a mounted server in a moment", steps(time.Second, repeat(5, mounted)...), false, false},
		{"a mounted server over 10 s", steps(3*time.Second, repeat(5, mounted)...), false, true},
		{"the limit is near", steps(0, repeat(3, open)...), true, true},
		{"the limit is near, twice", steps(0, repeat(2, open)...), true, false},
		{"a service that is not up yet", steps(time.Second, repeat(8, broken)...), false, false},
		{"a service that never comes up", steps(3*time.Second, repeat(6, broken)...), false, true},
	} {
		require.Equal(t, c.stuck, stuckBecause(c.steps, c.last) != "", c.name)
	}
	require.True(t, almostStuck(steps(0, local, local)))
	require.True(t, almostStuck(steps(0, repeat(2, local, changed)...)))
	require.False(t, almostStuck(steps(0, local, changed)))
	require.False(t, almostStuck(steps(0, open, open)), "a second look at the open world is no repetition")
	require.True(t, almostStuck(steps(0, repeat(4, open)...)))
}
