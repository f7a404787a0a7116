package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines"
)

// followed are the runs that a test's callers follow, by the caller's id.
type followed map[string]engines.Run

// Ruling implements agent.Runs.
func (f followed) Ruling(_ context.Context, call engines.Call) (all []engines.Run, err error) {
	if run, known := f[call.ID]; known {
		all = append(all, run)
	}
	return all, nil
}

// seenBox notes within which runs tools are called.
type seenBox struct {
	agent.Toolbox
	within [][]engines.Run
}

// Invoke implements agent.Toolbox.
func (b *seenBox) Invoke(ctx context.Context, call engines.Call, name string, args json.RawMessage) (engines.Result, error) {
	b.within = append(b.within, call.Within)
	return b.Toolbox.Invoke(ctx, call, name, args)
}

// TestARunKeepsTheRunsWhoseRulesHeld for who ordered it, when another one has it go on, and
// where another process carries it out.
func TestARunKeepsTheRunsWhoseRulesHeld(t *testing.T) {
	runs := followed{"ann": {Workflow: "w", RunID: "r1"}, "bob": {Workflow: "w", RunID: "r2"}}
	box := &seenBox{}
	read := json.RawMessage(`{"action":"tool","tool_name":"test.read","args":{"text":"a"}}`)
	again := json.RawMessage(`{"action":"tool","tool_name":"test.read","args":{"text":"b"}}`)
	end := json.RawMessage(`{"action":"finish","final":"done"}`)
	w := newWorld(t, []json.RawMessage{read, end, again, end, read, end}, func(o *agent.Options) {
		box.Toolbox = o.Toolbox
		o.Toolbox, o.Runs = box, runs
	})
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(w.runtime.Tools()...))
	order := func(id, args string) agent.Report {
		caller := engines.Caller{Identity: engines.Identity{ID: id}}
		result, err := registry.Invoke(t.Context(), engines.Call{Caller: caller}, "agent.run", json.RawMessage(args))
		require.NoError(t, err)
		return result.Value.(agent.Report)
	}
	first := order("ann", `{"goal":"one"}`)
	order("bob", `{"run_id":"`+first.RunID+`","goal":"two"}`)
	require.Equal(t, [][]engines.Run{{runs["ann"]}, {runs["ann"], runs["bob"]}}, box.within)

	submitted, err := w.runtime.Submit(t.Context(), agent.RunOptions{Goal: "three", Within: []engines.Run{runs["ann"]}}, nowhere{})
	require.NoError(t, err)
	run, err := w.runtime.Resume(agent.Order{RunID: submitted})
	require.NoError(t, err)
	run.Wait(t.Context(), nil)
	require.Equal(t, []engines.Run{runs["ann"]}, slices.Concat(box.within[2:]...))
}

// nowhere is a dispatcher whose workers a test stands for.
type nowhere struct{}

// Dispatch implements agent.Dispatcher.
func (nowhere) Dispatch(context.Context, agent.Order) error { return nil }
