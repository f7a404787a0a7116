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
	savantIn(b, folder, "run", "--quiet", "--run-id", "many", "a goal")
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

// BenchmarkHubShown takes the time from an event's write to its row in the hands of a
// page, beside the same for whoever reads the file itself.
func BenchmarkHubShown(b *testing.B) {
	folder := b.TempDir()
	savantIn(b, folder, "run", "--quiet", "--run-id", "many", "a goal")
	h := serveHub(b, folder)
	live := h.live("")
	_, _, _ = live.next()
	var shown, read samples
	count := 0
	for b.Loop() {
		read.time(func() {
			writeBurst(b, folder, count, 1)
			_, err := os.ReadFile(filepath.Join(folder, "logs", "agent_trace.log"))
			require.NoError(b, err)
		})
		for len(h.rows("many", count, "&type=retry").Rows) == 0 {
			_, _, _ = live.next()
		}
		count++
		shown.time(func() {
			writeBurst(b, folder, count, 1)
			for found := false; !found; {
				_, _, _ = live.next()
				found = len(h.rows("many", count, "&type=retry").Rows) > 0
			}
		})
		count++
	}
	b.ReportMetric(shown.median(), "shown-ms")
	b.ReportMetric(shown.median()/read.median(), "shown/read")
}
