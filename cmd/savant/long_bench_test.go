package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// used is what a process has used so far.
type used struct {
	processor time.Duration
	written   float64 // to the disk, in KB
}

// usedBy reads what a process has used: proc(5). It skips the benchmark where the
// kernel does not say.
func usedBy(b *testing.B, process int) used {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	io, unread := os.ReadFile(fmt.Sprintf("/proc/%d/io", process))
	if err != nil || unread != nil {
		b.Skip("there is no proc file system")
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	var user, system, written int64
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	require.NoError(b, err)
	_, bytes, _ := strings.Cut(string(io), "\nwrite_bytes: ")
	_, err = fmt.Sscan(bytes, &written)
	require.NoError(b, err)
	const tick = time.Second / 100 // sysconf(_SC_CLK_TCK) of Linux
	return used{time.Duration(user+system) * tick, float64(written) / 1024}
}

// BenchmarkLongRun takes a run of 10,000 steps that are written out, with results
// of 1 KB, through a real server; an iteration is a run.
//
//   - growth: the median of the last 500 steps beside that of steps 500 to 1,000
//   - cpu-ms and written-KB: processor time and bytes written a step, in the same
//     two windows
//   - disk-MB: the whole folder; peak-MB: the most memory the server ever had
//   - reopen-ms: the first think.next of a new server, with 5,000 steps done
//
// In short mode it takes 2,000 steps.
func BenchmarkLongRun(b *testing.B) {
	const window = 500
	steps := 10_000
	if testing.Short() {
		steps = 2_000
	}
	binary, result := build(b), strings.Repeat("x", payload)
	for i := 0; b.Loop(); i++ {
		folder := b.TempDir()
		longWorkflow(b, folder, steps)
		s := startServer(b, exec.Command(binary, "mcp"), folder)
		s.call(b, "think.plan", map[string]any{"workflow": "long", "run_id": "r"})
		answer := func(step int) {
			s.call(b, "think.next", map[string]any{"run_id": "r", "step_id": fmt.Sprintf("s%d", step), "result_snapshot": result})
		}
		measure := func(name string, from int) float64 {
			before, took := usedBy(b, s.command.Process.Pid), samples{}
			for step := from; step < from+window; step++ {
				took.time(func() { answer(step) })
			}
			after := usedBy(b, s.command.Process.Pid)
			b.ReportMetric(float64(after.processor-before.processor)/float64(time.Millisecond)/window, "cpu-ms@"+name)
			b.ReportMetric((after.written-before.written)/window, "written-KB@"+name)
			return took.median()
		}
		for step := range window {
			answer(step)
		}
		early := measure("1000", window)
		for step := 2 * window; step < steps/2; step++ {
			answer(step)
		}
		peak := peakOf(int64(s.command.Process.Pid))
		s.kill(b)
		s = startServer(b, exec.Command(binary, "mcp"), folder)
		require.NoError(b, s.ready(b))
		var reopened samples
		reopened.time(func() { answer(steps / 2) })
		for step := steps/2 + 1; step < steps-window; step++ {
			answer(step)
		}
		late := measure(fmt.Sprint(steps), steps-window)
		b.ReportMetric(late/early, "growth")
		b.ReportMetric(max(peak, peakOf(int64(s.command.Process.Pid))), "peak-MB")
		b.ReportMetric(reopened.median(), "reopen-ms")
		require.NoError(b, s.stdin.Close())
		require.NoError(b, s.wait(b))
		b.ReportMetric(sizeOf(b, folder), "disk-MB")
	}
	b.ReportMetric(0, "ns/op") // left out
}

// BenchmarkLongLoop takes the peak memory of a loop of 100,000 items, which takes
// minutes: it runs where SAVANT_BENCH_LONG is set.
func BenchmarkLongLoop(b *testing.B) {
	if os.Getenv("SAVANT_BENCH_LONG") == "" {
		b.Skip("SAVANT_BENCH_LONG is not set")
	}
	const items = 100_000
	workflow := "name: loop\nversion: \"1.0\"\nlimits: {items: 100000, steps: 200000}\nparams: {items: {type: array}}\nsteps:\n" +
		"  - {id: each, call: llm.generate, foreach: params.items, as: item, input_template: {task: Answer}, capture_as: all}\n"
	binary := build(b)
	for b.Loop() {
		folder := b.TempDir()
		require.NoError(b, os.MkdirAll(filepath.Join(folder, "workflows"), 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(folder, "workflows", "loop.yaml"), []byte(workflow), 0o644))
		s := startServer(b, exec.Command(binary, "mcp"), folder)
		s.send(b, 1, "think.plan", map[string]any{"workflow": "loop", "run_id": "r", "params": map[string]any{"items": make([]int, items)}})
		for range items {
			got, ok := s.read(b)
			require.True(b, ok, "the server has ended")
			require.False(b, got.Result.IsError, s.lines.Text())
			s.send(b, 1, "think.next", map[string]any{"run_id": "r", "step_id": got.Result.StructuredContent.Instruction.StepID, "result_snapshot": "done"})
		}
		b.ReportMetric(peakOf(int64(s.command.Process.Pid)), "peak-MB")
		s.kill(b)
	}
	b.ReportMetric(0, "ns/op") // left out
}

// kill ends a server as a crash does.
func (s *server) kill(b *testing.B) {
	require.NoError(b, s.command.Process.Kill())
	require.Error(b, s.wait(b))
}

// ready waits until a server answers.
func (s *server) ready(b *testing.B) error {
	_, err := s.stdin.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
	require.True(b, s.lines.Scan(), "the server has ended")
	return err
}

// sizeOf is what a folder takes on the disk, in MB.
func sizeOf(b *testing.B, folder string) float64 {
	var size int64
	require.NoError(b, filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		return err
	}))
	return float64(size) / (1 << 20)
}
