package program

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkHook starts `savant hook` with an event of a session that is held to a run,
// beside `savant --version`, which starts the program and does nothing: clients wait for
// the hook before every call.
func BenchmarkHook(b *testing.B) {
	folder := b.TempDir()
	longWorkflow(b, folder, 200)
	start := func(input string, args ...string) string {
		command := exec.Command("savant", append(args, "--path", folder)...)
		command.Stdin, command.Env = strings.NewReader(input), append(os.Environ(), "XDG_CACHE_HOME="+b.TempDir())
		out, err := command.Output()
		require.NoError(b, err)
		return string(out)
	}
	start("", "call", "think.plan", "--args", `{"workflow": "long", "run_id": "r1"}`)
	s := serveIn(b, folder)
	for i := range 150 {
		s.send(b, i, "think.next", map[string]any{"run_id": "r1", "step_id": fmt.Sprintf("s%d", i), "result_snapshot": map[string]any{"text": strings.Repeat("x", payload)}})
		_, ok := s.read(b)
		require.True(b, ok)
	}
	start(`{"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "mcp__savant__think_next", "tool_input": {"run_id": "r1"}}`, "hook", "codex")
	passes := `{"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "mcp__savant__git_log", "tool_input": {}}`
	refused := `{"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}`
	var nothing, passing, refusing samples
	for b.Loop() {
		nothing.time(func() { start("", "--version") })
		passing.time(func() { require.Empty(b, start(passes, "hook", "codex")) })
		refusing.time(func() { require.Contains(b, start(refused, "hook", "codex"), "deny") })
	}
	p95 := func(s samples) float64 {
		sorted := slices.Sorted(slices.Values(s))
		return float64(sorted[len(sorted)*95/100]) / float64(time.Millisecond)
	}
	b.ReportMetric(passing.median()/nothing.median(), "pass/start")
	b.ReportMetric(refusing.median()/nothing.median(), "refuse/start")
	b.ReportMetric(nothing.median(), "ms-start")
	b.ReportMetric(passing.median()-nothing.median(), "ms-pass")
	b.ReportMetric(p95(nothing), "ms-start-p95")
	b.ReportMetric(p95(passing), "ms-pass-p95")
	b.ReportMetric(p95(refusing), "ms-refuse-p95")
	b.ReportMetric(0, "ns/op")
}
