package program

import (
	"bufio"
	"encoding/json"
	"errors"
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
// of 1 KB, through a real server; an iteration is a run. Its last 500 steps take
// turns with steps 500 to 1,000 of the same workflow in a young server, and with a
// bare journal behind the same pipe, 50 at a time.
//
//   - growth: the median of the last steps beside that of the young server
//   - cpu-ms and written-KB: processor time and bytes written a step, of both; of
//     the bare journal cpu-ms alone
//   - cpu/bare: processor time of a step of the young server beside the bare journal
//   - disk-MB: the whole folder; peak-MB: the most memory the server ever had
//   - reopen-ms: the first think.next of a new server, with 5,000 steps done
//
// In short mode it takes 2,000 steps.
func BenchmarkLongRun(b *testing.B) {
	const window, turn = 500, 50
	steps := 10_000
	if testing.Short() {
		steps = 2_000
	}
	binary := build(b)
	for b.Loop() {
		folder := b.TempDir()
		old := steadyRun{server: startLong(b, binary, folder, steps)}
		old.steps(b, steps/2)
		peak := peakOf(int64(old.server.command.Process.Pid))
		old.server.kill(b)
		old.server = startServer(b, exec.Command(binary, "mcp"), folder)
		require.NoError(b, old.server.ready(b))
		var reopened samples
		reopened.time(func() { old.steps(b, 1) })
		old.steps(b, steps-window-old.done)

		young := steadyRun{server: startLong(b, binary, b.TempDir(), 2*window)}
		young.steps(b, window)
		bare := steadyRun{server: startServer(b, exec.Command("bare-journal"), b.TempDir())}
		for range window / turn {
			for _, run := range []*steadyRun{&old, &young, &bare} {
				run.measured(b, turn)
			}
		}
		b.ReportMetric(old.took.median()/young.took.median(), "growth")
		b.ReportMetric(old.processor()/window, fmt.Sprintf("cpu-ms@%d", steps))
		b.ReportMetric(young.processor()/window, "cpu-ms@1000")
		b.ReportMetric(bare.processor()/window, "cpu-ms-bare")
		b.ReportMetric(young.processor()/bare.processor(), "cpu/bare")
		b.ReportMetric(old.used.written/window, fmt.Sprintf("written-KB@%d", steps))
		b.ReportMetric(young.used.written/window, "written-KB@1000")
		b.ReportMetric(max(peak, peakOf(int64(old.server.command.Process.Pid))), "peak-MB")
		b.ReportMetric(reopened.median(), "reopen-ms")
		require.NoError(b, old.server.stdin.Close())
		require.NoError(b, old.server.wait(b))
		b.ReportMetric(sizeOf(b, folder), "disk-MB")
	}
	b.ReportMetric(0, "ns/op") // left out
}

// steadyRun is a run that goes on step by step, and what its measured steps took.
type steadyRun struct {
	server *server
	done   int // steps
	took   samples
	used   used
}

// startLong is a server with a run of a workflow of so many steps.
func startLong(b *testing.B, binary, folder string, steps int) *server {
	longWorkflow(b, folder, steps)
	s := startServer(b, exec.Command(binary, "mcp"), folder)
	s.call(b, "think.plan", map[string]any{"workflow": "long", "run_id": "r"})
	return s
}

// steps answers the next count steps.
func (r *steadyRun) steps(b *testing.B, count int) {
	for range count {
		r.server.call(b, "think.next", map[string]any{"run_id": "r", "step_id": fmt.Sprintf("s%d", r.done), "result_snapshot": strings.Repeat("x", payload)})
		r.done++
	}
}

// measured answers the next count steps and adds what they took.
func (r *steadyRun) measured(b *testing.B, count int) {
	before := usedBy(b, r.server.command.Process.Pid)
	for range count {
		r.took.time(func() { r.steps(b, 1) })
	}
	after := usedBy(b, r.server.command.Process.Pid)
	r.used.processor += after.processor - before.processor
	r.used.written += after.written - before.written
}

// processor is the processor time of the measured steps, in milliseconds.
func (r *steadyRun) processor() float64 { return float64(r.used.processor) / float64(time.Millisecond) }

// bareJournal is the least that a server which keeps results does: it reads a
// call, decodes it, appends its arguments to a file with fsync, and answers.
func bareJournal() {
	file, err := os.Create(filepath.Join(os.Getenv("SAVANT_PATH"), "journal"))
	lines, replies := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	lines.Buffer(nil, 1<<20)
	for err == nil && lines.Scan() {
		var call struct {
			ID     int
			Params struct{ Arguments any }
		}
		decoded := json.Unmarshal(lines.Bytes(), &call)
		record, encoded := json.Marshal(call.Params.Arguments)
		_, written := file.Write(append(record, '\n'))
		err = errors.Join(decoded, encoded, written, file.Sync(), replies.Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": map[string]any{}}))
	}
	if err != nil {
		panic(err)
	}
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
