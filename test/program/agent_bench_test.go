package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
)

// BenchmarkFirstQuestion takes the time from the start of `savant run` to its
// first question over loopback HTTP, in a git repository, beside `savant
// --version`: what any start of the program costs.
func BenchmarkFirstQuestion(b *testing.B) {
	arrived := make(chan time.Time, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"action":"finish","final":"done"}`)
	}))
	defer api.Close()
	folder := b.TempDir()
	environment := append(os.Environ(), "SAVANT_PATH="+folder, "REASONING_API_URL="+api.URL, "LOG_LEVEL=error", "XDG_CACHE_HOME="+b.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"}} {
		require.NoError(b, exec.Command("git", append([]string{"-C", folder}, args...)...).Run())
	}
	binary := build(b)
	var first, start samples
	for b.Loop() {
		version := exec.Command(binary, "--version")
		version.Env = environment
		start.time(func() { require.NoError(b, version.Run()) })
		command := exec.Command(binary, "run", "--quiet", "what is it?")
		command.Env = environment
		began := time.Now()
		require.NoError(b, command.Start())
		first = append(first, (<-arrived).Sub(began))
		require.NoError(b, command.Wait())
	}
	b.ReportMetric(first.median(), "first-ms")
	b.ReportMetric(start.median(), "version-ms")
	b.ReportMetric(first.median()/start.median(), "first/version")
}

// BenchmarkAgentMemory takes the peak memory of `savant run` with its memory
// full: 16 KB of it travel with each question. It is read from the kernel when
// the last question comes; what wait4 tells would count the parent, too. A run
// takes seconds, and its memory hardly differs from the next one's: one iteration
// in so many is a run, and the time of an iteration says nothing.
//
//   - small: 200 steps, each of which reads a file or what git knows
//   - large: 200 steps, each of which reads 64 KB
//   - wide: 30 steps of 64 calls, each of which reads 64 KB
func BenchmarkAgentMemory(b *testing.B) {
	binary := build(b)
	for _, each := range []struct {
		name        string
		steps, wide int
		decide      func(step int) string
	}{
		{"small", 200, 1, func(step int) string {
			if step%2 == 0 {
				return fmt.Sprintf(`{"action":"tool","tool_name":"git.log","args":{"limit":%d}}`, step)
			}
			return fmt.Sprintf(`{"action":"tool","tool_name":"context.read","args":{"path":"file%d.txt","end_line":%d}}`, step%50, 20+step/50)
		}},
		{"large", 200, 5, func(step int) string {
			return fmt.Sprintf(`{"action":"tool","tool_name":"context.read","args":{"path":"file%d.txt","end_line":%d}}`, step%50, 400-step/50)
		}},
		{"wide", 30, 5, func(step int) string {
			calls := make([]string, reasoning.MaxCalls)
			for i := range calls {
				calls[i] = fmt.Sprintf(`{"tool_name":"context.read","args":{"path":"file%d.txt","end_line":%d}}`, i%50, 400-2*step-i/50)
			}
			return `{"action":"tool","calls":[` + strings.Join(calls, ",") + `]}`
		}},
	} {
		b.Run(each.name, func(b *testing.B) { measureAgent(b, binary, each.steps, each.wide, each.decide) })
	}
}

// iterationsARun is how many iterations of BenchmarkAgentMemory have one run.
const iterationsARun = 5

// measureAgent runs so many steps over files of 400 lines, which are so many
// times as long as a short one.
func measureAgent(b *testing.B, binary string, steps, wide int, decide func(step int) string) {
	folder := b.TempDir()
	for i := range 50 {
		text := strings.Repeat(strings.Repeat(fmt.Sprintf("line of file %d, which says nothing; ", i), wide)+"\n", 400)
		require.NoError(b, os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%d.txt", i)), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "x"}} {
		require.NoError(b, exec.Command("git", append([]string{"-C", folder}, args...)...).Run())
	}
	var process, largest atomic.Int64
	var peaks []float64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		largest.Store(max(largest.Load(), r.ContentLength))
		var request reasoning.Request
		switch err := json.NewDecoder(r.Body).Decode(&request); {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case request.Step > steps:
			peaks = append(peaks, peakOf(process.Load()))
			fmt.Fprint(w, `{"action":"finish","final":"done"}`)
		default:
			fmt.Fprint(w, decide(request.Step))
		}
	}))
	defer api.Close()
	for i := 0; b.Loop(); i++ {
		if i%iterationsARun > 0 {
			continue
		}
		command := exec.Command(binary, "run", "--quiet", "--max-steps", "1000", "--output", "json", "read it")
		command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "REASONING_API_URL="+api.URL, "LOG_LEVEL=error", "XDG_CACHE_HOME="+b.TempDir())
		var out bytes.Buffer
		command.Stdout = &out
		require.NoError(b, command.Start())
		process.Store(int64(command.Process.Pid))
		require.NoError(b, command.Wait())
		require.Contains(b, out.String(), fmt.Sprintf(`"steps": %d`, steps+1))
		require.NotContains(b, out.String(), `"error"`)
	}
	b.ReportMetric(0, "ns/op") // left out
	b.ReportMetric(slices.Max(peaks), "peak-MB")
	b.ReportMetric(float64(largest.Load())/1024, "request-KB")
}

// peakOf is the most memory that a process ever had, in MB: VmHWM of proc(5);
// 0 where the kernel does not say.
func peakOf(process int64) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	if _, unread := fmt.Sscan(peak, &kilobytes); err != nil || unread != nil {
		return 0
	}
	return kilobytes / 1024
}
