//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
	"savant/test/agenttest"
)

// TestEventsThatAKillLostAreRecordedLater: wherever a kill ends the
// trace of a run, resuming the run records the missing events of the journal, each once.
func TestEventsThatAKillLostAreRecordedLater(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	const prompt = `"prompt":{"hash":"0123","tokens":7,"sections":[]}`
	api := &agenttest.API{Log: &agenttest.Journal{}, Answers: []json.RawMessage{
		json.RawMessage(`{"action":"tool","calls":[{"tool_name":"think.workflows.list"},{"tool_name":"context.tree"}],` + prompt + `}`),
		json.RawMessage(`{"action":"tool","tool_name":"context.tree","args":{"depth":1}}`)}}
	server := httptest.NewServer(api)
	defer server.Close()
	folder := t.TempDir()
	savant := func(args ...string) {
		command := exec.Command("savant", args...)
		command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error", "REASONING_API_URL="+server.URL)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	savant("run", "--name", "r1", "--skip-git", "look")
	trace := filepath.Join(folder, filepath.FromSlash(telemetry.TraceFile))
	whole, err := os.ReadFile(trace)
	require.NoError(t, err)
	journal := filepath.Join(folder, ".savant", "sessions", "r1.journal")
	records, err := os.ReadFile(journal)
	require.NoError(t, err)
	records = records[:strings.LastIndex(string(records), `{"n":`)] // it had not ended
	lines := slices.Collect(strings.Lines(string(whole)))

	recorded := eventsOf(t, lines)
	require.Contains(t, recorded, "policy_denied 1.1")
	require.Contains(t, recorded, "prompt_snapshot 1")
	require.Contains(t, recorded, "tool_call_started 2.1")
	for end := range lines {
		require.NoError(t, os.WriteFile(trace, []byte(strings.Join(lines[:end], "")), 0o600))
		require.NoError(t, os.WriteFile(journal, records, 0o600))
		savant("run", "--resume", "r1")
		after, err := os.ReadFile(trace)
		require.NoError(t, err)
		require.Equal(t, recorded, eventsOf(t, slices.Collect(strings.Lines(string(after)))), "the trace ended after %d lines", end)
	}
}

// eventsOf returns the decisions and calls in lines of a trace, sorted.
func eventsOf(t *testing.T, lines []string) []string {
	t.Helper()
	var recorded []string
	for _, line := range lines {
		var e telemetry.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		switch e.Type {
		case telemetry.PromptSnapshot, telemetry.ReasoningStep:
			recorded = append(recorded, fmt.Sprintf("%s %d", e.Type, e.Step))
		case telemetry.PolicyDenied, telemetry.ToolCallStarted, telemetry.ToolCallCompleted:
			recorded = append(recorded, fmt.Sprintf("%s %s", e.Type, e.CallID))
		}
	}
	slices.Sort(recorded)
	return recorded
}
