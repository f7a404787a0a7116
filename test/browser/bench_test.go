package browser

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// watchRows has a page note when the row of a step was painted: the frame after the one in
// which it came into the list.
const watchRows = `(() => {
  window.painted = new Map();
  const seen = () => {
    const now = [...document.querySelectorAll("#events .line")].map((each) => parseInt(each.textContent));
    requestAnimationFrame(() => requestAnimationFrame(() => { for (const step of now) if (!painted.has(step)) painted.set(step, Date.now()); }));
  };
  new MutationObserver(seen).observe(document.getElementById("events"), { childList: true });
  return true;
})()`

// paintedAt waits until the row of a step was painted, and returns when.
const paintedAt = `new Promise((resolve) => { const look = () => painted.has($1) ? resolve(painted.get($1)) : setTimeout(look, 5); look(); })`

// BenchmarkPainted takes the time from an event's write, by another process than the hub,
// to its painted row in the browser.
func BenchmarkPainted(b *testing.B) {
	folder := b.TempDir()
	savantIn(b, folder, "run", "--quiet", "--name", "one", "a goal")
	h := serve(b, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + runPage + "one?type=retry")
	p.says("#live-state", "Connected.")
	eval[bool](p, watchRows)
	var took []float64
	for b.Loop() {
		for range 50 {
			step := len(took) + 1
			began := time.Now()
			trace(b, folder, telemetry.Event{Type: telemetry.Retry, RunID: "one", Step: step, Timestamp: "2026-01-02T03:04:05Z"})
			took = append(took, eval[float64](p, paintedAt, step)-float64(began.UnixMicro())/1000)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*95/100], "p95-ms")
	b.ReportMetric(0, "ns/op") // left out
}

// watchVersion has a page note when a version of a run was painted.
const watchVersion = `(() => {
  window.painted = new Map();
  new MutationObserver(() => {
    const now = parseInt(document.getElementById("version-shown").textContent.slice(1));
    requestAnimationFrame(() => requestAnimationFrame(() => { if (!painted.has(now)) painted.set(now, Date.now()); }));
  }).observe(document.getElementById("main"), { childList: true, characterData: true, subtree: true });
  return true;
})()`

// BenchmarkAnswerShown takes the time from the call that answers a step of a workflow, in
// another process than the hub, to the painted page of the run.
func BenchmarkAnswerShown(b *testing.B) {
	const items = 1000
	folder := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	list := strings.TrimSuffix(strings.Repeat("1, ", items), ", ")
	require.NoError(b, os.WriteFile(filepath.Join(folder, "workflows", "many.yaml"), []byte("name: many\nversion: \"1\"\nlimits: {items: 1000, steps: 2000}\nsteps:\n  - {id: list, call: flow.set, input_template: {value: ["+list+"]}, capture_as: list}\n"+
		"  - {id: each, foreach: list, as: one, call: llm.generate, input_template: {task: \"{{ one }}\"}, capture_as: all}\n"), 0o600))
	say, hear := client(b, folder)
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	hear()
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"think.plan","arguments":{"workflow":"many","run_id":"r1"}}}`)
	hear()
	h := serve(b, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/many/r1")
	p.says("#version-shown", "v1 of v1")
	eval[bool](p, watchVersion)
	var took []float64
	for b.Loop() {
		for range 40 {
			time.Sleep(500 * time.Millisecond) // as a client's model takes at least
			answered := len(took)
			began := time.Now()
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"think.next","arguments":{"run_id":"r1","step_id":"each_%d","result_snapshot":"x"}}}`, answered+3, answered))
			hear()
			took = append(took, eval[float64](p, paintedAt, answered+2)-float64(began.UnixMicro())/1000)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*95/100], "p95-ms")
	b.ReportMetric(0, "ns/op") // left out
}

// idle waits until the browser has nothing left to do of opening a page.
const idle = `new Promise((resolve) => { const look = (deadline) => deadline.timeRemaining() > 40 ? resolve(true) : requestIdleCallback(look); requestIdleCallback(look); })`

// BenchmarkOpenPage takes steps of a run of the agent, which each read some lines of a file,
// while its page is open in the browser and live, beside steps while it is not. The two
// alternate in short blocks; of the ratios of neighbours it reports the median, and
// between what it lies by their scatter (95 %). cpu is the same for the processor time of
// the run's process, which other load moves less; hub is that of the hub, for each of the
// steps that the page shows.
func BenchmarkOpenPage(b *testing.B) {
	const pairs, steps = 40, 12 // a run has 1,000 steps at most
	asked, decisions := make(chan struct{}), make(chan string)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		_, _ = io.WriteString(w, <-decisions)
	}))
	defer api.Close()
	folder := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(folder, "file.txt"), []byte(strings.Repeat("a line of some words\n", 50_000)), 0o600))
	h := serve(b, folder, "127.0.0.1:0")
	p := h.enter()
	var ratios, closed []float64
	var used, byHub [2]float64 // with the page closed, and open
	for round := 0; b.Loop(); round++ {
		run, line := fmt.Sprint("going", round), 0
		command := exec.Command("savant", "run", "--quiet", "--name", run, "--skip-git", "--max-steps", fmt.Sprint(2*pairs*steps+10), "a goal", "--path", folder)
		command.Env = append(os.Environ(), "REASONING_API_URL="+api.URL, "LOG_LEVEL=error")
		command.Stderr = os.Stderr
		require.NoError(b, command.Start())
		<-asked
		block := func(open int) float64 {
			before, ofHub := processorTime(command.Process.Pid), processorTime(h.command.Process.Pid)
			defer func() {
				used[open] += processorTime(command.Process.Pid) - before
				byHub[open] += processorTime(h.command.Process.Pid) - ofHub
			}()
			var took []float64
			for range steps {
				line++
				began := time.Now()
				decisions <- fmt.Sprintf(`{"action":"tool","tool_name":"context.read","args":{"path":"file.txt","start_line":%d,"end_line":%d}}`, line, line+20)
				<-asked
				took = append(took, float64(time.Since(began))/float64(time.Millisecond))
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		watched := func() float64 {
			p.open(h.base + runPage + run + "?view=timeline")
			p.says("#live-state", "Connected.")
			eval[bool](p, idle)
			return block(1)
		}
		alone := func() float64 { p.open("about:blank"); eval[bool](p, idle); return block(0) }
		for i := range pairs {
			var with, without float64
			if i%2 == 0 {
				with, without = watched(), alone()
			} else {
				without, with = alone(), watched()
			}
			ratios, closed = append(ratios, with/without), append(closed, without)
		}
		decisions <- `{"action":"finish","final":"done"}`
		require.NoError(b, command.Wait())
	}
	slices.Sort(ratios)
	slices.Sort(closed)
	n := float64(len(ratios))
	far := 0.98 * math.Sqrt(n) // the ranks around the median that hold it 19 times of 20
	b.ReportMetric(closed[len(closed)/2], "step-ms")
	b.ReportMetric(ratios[len(ratios)/2], "open/closed")
	b.ReportMetric(ratios[max(0, int(n/2-far))], "at-least")
	b.ReportMetric(ratios[min(len(ratios)-1, int(n/2+far))], "at-most")
	if used[0] > 0 {
		b.ReportMetric(used[1]/used[0], "cpu-open/closed")
		b.ReportMetric(byHub[1]*tick/(n*steps), "hub-ms/step")
	}
	b.ReportMetric(0, "ns/op") // left out
}

// tick is the unit of processorTime in milliseconds; Linux has the same on all machines.
const tick = 10

// processorTime is what a process has used, in ticks; 0 where the system does not tell.
func processorTime(process int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), ") ") // the name of the program may have spaces
	var user, system float64
	if fields := strings.Fields(after); len(fields) > 12 {
		_, _ = fmt.Sscan(fields[11], &user) // numbers
		_, _ = fmt.Sscan(fields[12], &system)
	}
	return user + system
}
