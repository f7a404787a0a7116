package program

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkHubFirstView takes the page of a run with 40,000 events from a hub that was
// just started, and again.
func BenchmarkHubFirstView(b *testing.B) {
	const events = 40_000
	folder := b.TempDir()
	savantIn(b, folder, "run", "--quiet", "--name", "many", "a goal")
	var lines strings.Builder
	for i := range events {
		fmt.Fprintf(&lines, `{"seq":%d,"timestamp":"2026-01-02T03:04:05.678901234Z","type":"tool_call_completed","source":"agent","session_id":"many","run_id":"many","step":%d,"tool_name":"context.search","call_id":"%d.1","args":{"query":"x","limit":8},"output":"{\"rows\":[]}","status":"ok","duration_ms":12.9}`+"\n", i, i/4+1, i)
	}
	file := filepath.Join(folder, "logs", "agent_trace.log")
	trace, err := os.ReadFile(file)
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(file, append(trace, lines.String()...), 0o600))
	var first, again samples
	size := 0
	for b.Loop() {
		h := serveHub(b, folder)
		first.time(func() { h.page("/diagnostics/agents/many?page=399") })
		again.time(func() { size = len(h.page("/diagnostics/agents/many?page=399")) })
	}
	b.ReportMetric(first.median(), "first-ms")
	b.ReportMetric(again.median(), "again-ms")
	b.ReportMetric(float64(size)/1024, "page-KB")
}

// BenchmarkHubLongAgent takes the pages of a run of the agent with 1,000 steps, in turns
// with that of a run with one step, and a page that shows nothing.
func BenchmarkHubLongAgent(b *testing.B) {
	const steps = 1000
	asked := atomic.Int64{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if line := asked.Add(1); line < steps {
			fmt.Fprintf(w, `{"action":"tool","tool_name":"context.read","args":{"path":"file.txt","start_line":%d,"end_line":%d},"reasoning":"The next lines are needed."}`, line, line+20)
			return
		}
		_, _ = io.WriteString(w, `{"action":"finish","final":"done"}`)
	}))
	defer api.Close()
	folder := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(folder, "file.txt"), []byte(strings.Repeat("a line of some words\n", 5000)), 0o600))
	for _, run := range []string{"long", "short"} { // the second is finished at once
		command := exec.CommandContext(b.Context(), "savant", "run", "--quiet", "--name", run, "--skip-git", "--max-steps", fmt.Sprint(steps), "a goal", "--path", folder)
		command.Env = append(os.Environ(), "REASONING_API_URL="+api.URL, "LOG_LEVEL=error")
		out, err := command.CombinedOutput()
		require.NoError(b, err, string(out))
	}
	h := serveHub(b, folder)
	var nothing, short, timeline, cards, alone samples
	size := 0
	for b.Loop() {
		nothing.time(func() { h.ask(h.client, http.MethodGet, "/nothing", nil) })
		short.time(func() { h.page("/diagnostics/agents/short") })
		timeline.time(func() { h.page("/diagnostics/agents/long?view=timeline&page=9") })
		cards.time(func() { size = len(h.page("/diagnostics/agents/long?page=9")) })
		alone.time(func() { h.page("/diagnostics/agents/long?step=500") })
	}
	b.ReportMetric(nothing.median(), "nothing-ms")
	b.ReportMetric(short.median(), "short-ms")
	b.ReportMetric(timeline.median()/short.median(), "timeline/short")
	b.ReportMetric(cards.median()/short.median(), "cards/short")
	b.ReportMetric(cards.median()/nothing.median(), "cards/nothing")
	b.ReportMetric(alone.median(), "alone-ms")
	b.ReportMetric(float64(size)/1024, "cards-KB")
	b.ReportMetric(0, "ns/op") // left out
}
