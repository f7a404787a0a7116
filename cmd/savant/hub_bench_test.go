package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// BenchmarkHubOpenPage takes steps of the agent, which each read some lines of a file,
// while a page of the run is open and asks for its rows, beside steps of the same run
// while none is.
func BenchmarkHubOpenPage(b *testing.B) {
	const steps, most = 5, 1000 // of a block, and of the run
	asked, decisions := make(chan struct{}), make(chan string)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		_, _ = io.WriteString(w, <-decisions)
	}))
	defer api.Close()
	folder := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(folder, "file.txt"), []byte(strings.Repeat("a line of some words\n", 50_000)), 0o600))
	command := exec.Command("savant", "run", "--quiet", "--run-id", "going", "--max-steps", fmt.Sprint(most), "a goal", "--path", folder)
	command.Env = append(os.Environ(), "REASONING_API_URL="+api.URL, "LOG_LEVEL=error", "XDG_CACHE_HOME="+b.TempDir())
	command.Stderr = os.Stderr
	require.NoError(b, command.Start())
	<-asked
	h := serveHub(b, folder)
	line := 0
	block := func(into *samples) {
		for range steps {
			line++
			into.time(func() {
				decisions <- fmt.Sprintf(`{"action":"tool","tool_name":"context.read","args":{"path":"file.txt","start_line":%d,"end_line":%d}}`, line, line+20)
				<-asked
			})
		}
	}
	var alone, watched samples
	for b.Loop() {
		if line+2*steps >= most {
			continue
		}
		block(&alone)
		closePage := h.openPage("going")
		block(&watched)
		closePage()
	}
	decisions <- `{"action":"finish","final":"done"}`
	require.NoError(b, command.Wait())
	b.ReportMetric(alone.median(), "step-ms")
	b.ReportMetric(watched.median()/alone.median(), "watched/alone")
}

// openPage does what the page of a run does while it is open: it asks for the last rows
// whenever the run has new events.
func (h *hubAt) openPage(run string) (closePage func()) {
	live := h.live("")
	_, _, _ = live.next()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for live.lines.Scan() {
			if live.lines.Text() == "event: changed" {
				answer, err := h.client.Get(h.base + "/diagnostics/agents/" + run + "/rows?from=0&count=100")
				if err != nil {
					continue // the hub has ended
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	}()
	return func() { _ = live.body.Close(); <-ended }
}
