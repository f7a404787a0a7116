package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"savant/cmd/savant/app"
	"savant/cmd/savant/commands"
	"savant/engines"
	"savant/think"
)

// The benchmarks report ratios of medians, taken in turns within one run:
// absolute times say more about the machine than about the program.

// payload is the size in bytes of a result, and of a record appended.
const payload = 1 << 10

// samples are durations of one thing done again and again.
type samples []time.Duration

func (s *samples) time(f func()) {
	start := time.Now()
	f()
	*s = append(*s, time.Since(start))
}

// median is in milliseconds.
func (s samples) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return float64(sorted[(len(sorted)-1)/2]) / float64(time.Millisecond)
}

// serveWithNothing is `savant mcp` with one more tool, which does nothing: what
// a call costs before Think does anything. It is an engine's that leaves no
// receipts, as Think's own are.
func serveWithNothing() int {
	os.Args = []string{os.Args[0], "mcp"}
	return commands.Start("", func(a *app.App) error {
		nothing := engines.Bind("think.nothing", "Does nothing.", func(_ context.Context, in think.NextInput) (think.NextInput, error) { return in, nil })
		nothing.Title = "Nothing"
		return errors.Join(a.AddEngines(), a.Tools.Add(nothing))
	})
}

// BenchmarkNext takes think.next with a result of 1 KB through a real server
// beside its two unavoidable parts: an append with fsync on the same disk, and
// a call of a tool that does nothing with the same arguments.
func BenchmarkNext(b *testing.B) {
	const steps = 1000
	folder := b.TempDir()
	longWorkflow(b, folder, steps)
	s := startServer(b, exec.Command("savant-with-nothing"), folder)
	journal, err := os.Create(filepath.Join(folder, "journal"))
	require.NoError(b, err)
	defer journal.Close()
	record := bytes.Repeat([]byte("x"), payload)

	var next, appended, nothing samples
	for i := 0; b.Loop(); i++ {
		args := map[string]any{"run_id": fmt.Sprintf("r%d", i/steps), "step_id": fmt.Sprintf("s%d", i%steps), "result_snapshot": string(record)}
		if i%steps == 0 {
			s.call(b, "think.plan", map[string]any{"workflow": "long", "run_id": args["run_id"]})
		}
		appended.time(func() {
			_, err := journal.Write(record)
			require.NoError(b, err)
			require.NoError(b, journal.Sync())
		})
		nothing.time(func() { s.call(b, "think.nothing", args) })
		next.time(func() { s.call(b, "think.next", args) })
	}
	b.ReportMetric(next.median()/(appended.median()+nothing.median()), "next/(fsync+nothing)")
	b.ReportMetric(next.median(), "next-ms")
	b.ReportMetric(appended.median(), "fsync-ms")
	b.ReportMetric(nothing.median(), "nothing-ms")
}

// call sends one call and waits for its answer.
func (s *server) call(b *testing.B, tool string, args any) {
	s.send(b, 1, tool, args)
	got, ok := s.read(b)
	require.True(b, ok, "the server has ended")
	require.False(b, got.Result.IsError, s.lines.Text())
}

// BenchmarkStart takes the real program from its start to the answer to
// tools/list, beside the start of the same program to say its version.
func BenchmarkStart(b *testing.B) {
	binary := build(b)
	folder := b.TempDir()
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	var listed, bare, stopped samples
	for b.Loop() {
		bare.time(func() { require.NoError(b, exec.Command(binary, "--version").Run()) })
		var s *server
		listed.time(func() {
			s = startServer(b, exec.Command(binary, "mcp"), folder)
			_, err := s.stdin.Write([]byte(hello))
			require.NoError(b, err)
			for range 2 { // the greeting and the list
				require.True(b, s.lines.Scan(), "the server has ended")
			}
		})
		stopped.time(func() {
			require.NoError(b, s.stdin.Close())
			require.NoError(b, s.wait(b))
		})
	}
	b.ReportMetric(listed.median()/bare.median(), "listed/version")
	b.ReportMetric(listed.median(), "listed-ms")
	b.ReportMetric(stopped.median(), "stop-ms")
}

// build makes the program as the Makefile does.
func build(b *testing.B) string {
	binary := filepath.Join(b.TempDir(), "savant")
	out, err := exec.Command("go", "build", "-trimpath", "-o", binary, "../../cmd/savant").CombinedOutput()
	require.NoError(b, err, string(out))
	return binary
}

// BenchmarkPlan takes think.plan of a workflow that was never seen beside the
// YAML decoder alone on the same file, and the same plan again.
func BenchmarkPlan(b *testing.B) {
	for _, steps := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			folder := b.TempDir()
			longWorkflow(b, folder, steps)
			source, err := os.ReadFile(filepath.Join(folder, "workflows", "long.yaml"))
			require.NoError(b, err)
			var cold, again, decoded samples
			for b.Loop() {
				decoded.time(func() { require.NoError(b, yaml.Unmarshal(source, new(any))) })
				a := openApp(b, folder)
				plan := func() {
					_, err := a.Think.Plan(b.Context(), think.PlanInput{Workflow: "long"})
					require.NoError(b, err)
				}
				cold.time(plan)
				again.time(plan)
				require.NoError(b, a.Close(b.Context()))
			}
			b.ReportMetric(cold.median()/decoded.median(), "cold/yaml")
			b.ReportMetric(cold.median(), "cold-ms")
			b.ReportMetric(again.median(), "again-ms")
		})
	}
}
