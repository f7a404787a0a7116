package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What strace says of a sync that ended well and of a reply on stdout.
var (
	syncEnded    = regexp.MustCompile(`\b(fsync|fdatasync|syncfs|sync|msync|sync_file_range)(\(.*| resumed>.*)\) += 0$`)
	replyWritten = regexp.MustCompile(`\bwrite\(1, `)
)

// TestOneSyncAStep counts, as the system sees it, what a step waits for: from
// one reply to the next exactly one sync.
func TestOneSyncAStep(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if err := exec.Command(strace, "-f", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skip("strace may not trace here:", err)
	}
	const steps = 40
	folder, log := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	longWorkflow(t, folder, steps)
	s := startServer(t, exec.Command(strace, "-f", "-qq", "-e", "signal=none", "-e", "trace=write,fsync,fdatasync,syncfs,sync,msync,sync_file_range",
		"-o", log, "savant", "mcp"), folder, "MCP_SERVICE=think")
	s.send(t, 0, "think.plan", map[string]any{"workflow": "long", "run_id": "r1"})
	for i := range steps {
		answer, ok := s.read(t)
		require.True(t, ok)
		require.False(t, answer.Result.IsError)
		s.send(t, i+1, "think.next", map[string]any{"run_id": "r1", "step_id": answer.Result.StructuredContent.Instruction.StepID, "result_snapshot": i})
	}
	_, ok := s.read(t)
	require.True(t, ok)
	require.NoError(t, s.stdin.Close())
	require.NoError(t, s.wait(t))

	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	syncs := syncsBetweenReplies(string(calls))
	require.Len(t, syncs, steps+1)
	for i, count := range syncs[1:steps] { // the plan and the end write whole states too
		require.Equal(t, 1, count, "step %d", i+1)
	}
}

// syncsBetweenReplies returns, for each reply, the syncs since the one before.
func syncsBetweenReplies(calls string) []int {
	var counts []int
	count := 0
	for line := range strings.Lines(calls) {
		switch line = strings.TrimSpace(line); {
		case syncEnded.MatchString(line):
			count++
		case replyWritten.MatchString(line):
			counts = append(counts, count)
			count = 0
		}
	}
	return counts
}
