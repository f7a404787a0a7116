package agent_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines"
)

// TestARunPolls asks a tool again and again: what is local is answered from memory for a
// moment and then anew, and what another server or the open world says always anew.
func TestARunPolls(t *testing.T) {
	for name, c := range map[string]struct {
		tool   engines.Tool
		takes  time.Duration // of a call
		polls  int
		calls  int64 // that are made
		status agent.Status
	}{
		"local, in a moment":    {engines.Tool{}, 0, 3, 1, agent.StatusOK},
		"mounted":               {engines.Tool{Mounted: true}, time.Second, 8, 8, agent.StatusOK},
		"open world":            {engines.Tool{OpenWorld: true}, time.Second, 8, 8, agent.StatusOK},
		"local, without end":    {engines.Tool{}, 0, 25, 1, agent.StatusStuck},
		"mounted, without end":  {engines.Tool{Mounted: true}, 0, 25, 24, agent.StatusStuck},
		"mounted, over a while": {engines.Tool{Mounted: true}, 3 * time.Second, 25, 5, agent.StatusStuck},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			tool := engines.Bind("watch.state", "Says whether it is ready.", func(context.Context, struct{}) (any, error) {
				calls.Add(1)
				return map[string]any{"ready": false}, nil
			})
			tool.ReadOnly, tool.Mounted, tool.OpenWorld = true, c.tool.Mounted, c.tool.OpenWorld
			registry := engines.NewRegistry(engines.Options{})
			require.NoError(t, registry.Add(tool))
			answers := append(slices.Repeat([]string{`{"action":"tool","tool_name":"watch.state","args":{}}`}, c.polls), answer)
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			w := newWorld(t, script(answers...), func(o *agent.Options) {
				o.Toolbox, o.Now = registry, func() time.Time { return begin.Add(time.Duration(calls.Load()) * c.takes) }
			})
			run, err := w.runtime.Start(agent.RunOptions{Goal: "wait until it is ready"})
			require.NoError(t, err)
			report := ended(t, run)
			require.Equal(t, c.status, report.Status, report.Warning)
			require.Equal(t, c.calls, calls.Load())
		})
	}
}

// TestACachedAnswerExpires reads something, waits, and reads it again.
func TestACachedAnswerExpires(t *testing.T) {
	var reads, now atomic.Int64
	state := engines.Bind("watch.state", "Says how often it was asked.", func(context.Context, struct{}) (any, error) {
		return map[string]any{"reads": reads.Add(1)}, nil
	})
	wait := engines.Bind("watch.wait", "Waits.", func(_ context.Context, in struct {
		Seconds int64 `json:"seconds"`
	}) (any, error) {
		now.Add(in.Seconds)
		return map[string]any{}, nil
	})
	state.ReadOnly, wait.ReadOnly = true, true
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(state, wait))
	const look = `{"action":"tool","tool_name":"watch.state","args":{}}`
	w := newWorld(t, script(look, `{"action":"tool","tool_name":"watch.wait","args":{"seconds":1}}`, look,
		`{"action":"tool","tool_name":"watch.wait","args":{"seconds":2}}`, look, answer), func(o *agent.Options) {
		o.Toolbox, o.Now = registry, func() time.Time { return time.Unix(now.Load(), 0) }
	})
	run, err := w.runtime.Start(agent.RunOptions{Goal: "watch"})
	require.NoError(t, err)
	report := ended(t, run)
	require.Equal(t, agent.StatusOK, report.Status)
	var seen []string
	for _, step := range report.Transcript {
		for _, call := range step.Calls {
			if call.Tool == "watch.state" {
				seen = append(seen, string(call.Output))
			}
		}
	}
	require.Equal(t, []string{`{"reads":1}`, `{"reads":1}`, `{"reads":2}`}, seen)
}
