package agent_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/rules/sessions"
	"savant/test/agenttest"
)

// sharedPlace is the folder of two machines.
type sharedPlace struct{ memory.Place }

// Shared implements memory.Place.
func (sharedPlace) Shared() bool { return true }

// newMachine returns a machine with rules of its own, whose runs are in a shared folder.
func newMachine(t *testing.T, runs string, answers ...json.RawMessage) *world {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "rules"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules", "r.yaml"), []byte(
		"rules: [{id: once, before: test.write, once: input.text}, {id: seen, before: test.destroy, require: \"any(calls['test.write'], .input.text == 'a')\"}]"), 0o600))
	own, err := os.OpenRoot(folder)
	require.NoError(t, err)
	shared, err := os.OpenRoot(runs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()); require.NoError(t, shared.Close()) })
	keeper := sessions.Open(sessions.Options{Files: own.FS(), Root: own, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	registry := engines.NewRegistry(engines.Options{Rules: keeper})
	require.NoError(t, registry.Add(agenttest.Tools(folder)...))
	return newWorld(t, answers, func(o *agent.Options) {
		o.Toolbox, o.Memory = registry, memory.Over(sharedPlace{memory.Open(shared, time.Now).Place}, time.Now)
		o.Policy.Approver = sameAnswer(true)
	})
}

// What rules know of a run's calls goes with the run to another machine, and back.
func TestRulesKnowTheCallsThatAnotherMachineMade(t *testing.T) {
	runs := t.TempDir()
	hang := json.RawMessage(`{"hang": true}`)
	write := func(text string) json.RawMessage {
		return json.RawMessage(`{"action":"tool","tool_name":"test.write","args":{"text":"` + text + `"}}`)
	}
	destroy := json.RawMessage(`{"action":"tool","tool_name":"test.destroy","args":{}}`)
	first := newMachine(t, runs, write("a"), hang, write("b"))
	second := newMachine(t, runs, write("a"), destroy, write("b"), hang)
	await := func(w *world, questions int) {
		for range questions {
			<-w.api.Arrived
		}
	}
	run, err := first.runtime.Start(agent.RunOptions{Goal: "write"})
	require.NoError(t, err)
	await(first, 2)
	run.Leave()
	<-run.Done()
	run, err = second.runtime.Resume(agent.Order{RunID: run.ID()})
	require.NoError(t, err)
	await(second, 4)
	run.Leave()
	<-run.Done()
	run, err = first.runtime.Resume(agent.Order{RunID: run.ID()})
	require.NoError(t, err)
	<-run.Done()
	report := run.Report()
	require.Equal(t, agent.StatusOK, report.Status)
	got := []string{}
	for _, step := range report.Transcript {
		for _, call := range step.Calls {
			code := "made"
			if call.Error != nil {
				code = string(call.Error.Code)
			}
			got = append(got, call.Tool+" "+code)
		}
	}
	require.Equal(t, []string{"test.write made", "test.write RULE_REFUSED", "test.destroy made", "test.write made", "test.write RULE_REFUSED"}, got)
}
