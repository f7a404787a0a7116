package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
