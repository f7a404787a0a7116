package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMetricsTellOfEveryProcess: what commands did before and after the hub was started
// is counted once, and a scraper needs no session.
func TestMetricsTellOfEveryProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "asks.yaml"),
		[]byte("name: asks\nversion: \"1\"\nsteps:\n  - {id: tell, call: llm.generate, input_template: {task: \"Tell.\", input: x}}\n  - {id: sure, call: human.approve, deps: [tell], input_template: {message: \"Sure?\"}}\n"), 0o600))
	savantIn(t, folder, "run", "--quiet", "--name", "a1", "--force-tool", "git.status", "--force-finish")
	h := serveHub(t, folder)
	scrape := func() string {
		status, text, header := h.ask(&http.Client{}, http.MethodGet, "/metrics", nil)
		require.Equal(t, http.StatusOK, status, text)
		require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", header.Get("Content-Type"))
		require.NotContains(t, text, "a1", "no text of a run")
		return text
	}
	first := scrape()
	require.Equal(t, first, scrape())
	for _, line := range []string{`savant_agent_runs_finished_total{status="error"} 1`, `savant_steps_total{kind="workflow"} 0`, `savant_queue_depth{for="person"} 0`, "savant_trace_lost_total 0"} {
		require.Contains(t, first, line+"\n")
	}
	require.Regexp(t, `savant_tool_calls_total\{tool="git\.status",source="agent",outcome="\w+"\} 1\n`, first)
	require.Regexp(t, `savant_decisions_total\{action="tool",model="[^"]*"\} 1\n`, first)

	savantIn(t, folder, "run", "--quiet", "--name", "a2", "--force-tool", "git.status", "--force-finish")
	savantIn(t, folder, "workflows", "run", "asks", "--name", "r1")
	savantIn(t, folder, "workflows", "answer", "r1", "tell", "--result", `"told"`)
	require.Contains(t, scrape(), `savant_agent_runs_finished_total{status="error"} 2`+"\n", "events are there at once")
	require.Eventually(t, func() bool { // how runs stand is looked at once in some seconds
		text := scrape()
		return strings.Contains(text, `savant_queue_depth{for="person"} 1`) && strings.Contains(text, `savant_open_runs{kind="workflow",status="waiting"} 1`) &&
			!strings.Contains(text, `savant_steps_total{kind="workflow"} 0`)
	}, 30*time.Second, 100*time.Millisecond)
	for _, header := range []string{"Host", "Origin"} {
		status, _, _ := h.ask(&http.Client{}, http.MethodGet, "/metrics", nil, header, "http://rebound.example")
		require.Equal(t, http.StatusForbidden, status, header)
	}
}
