//go:build unix

package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// started is what both programs below are: one that starts another, tells the
// ids of both, and hears nothing of what becomes of its streams.
const started = `trap '' TERM HUP PIPE; sleep 300 & echo $$ $! > ids.new; mv ids.new ids; while :; do sleep 1; done`

// A server that is killed leaves nothing running: neither the command of a call
// nor a mounted server, nor what these have started.
func TestAKilledServerLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content, tool string }{
		"ci":    {".savant/ci.yaml", `commands: {tests: {command: [sh, -c, "` + started + `"]}}`, "ci.run_tests"},
		"mount": {".savant/mcp.json", `{"mcpServers": {"other": {"command": "sh", "args": ["-c", "` + started + `"]}}}`, "other.anything"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, c.file), []byte(c.content), 0o600))
			trusts(t, folder)
			s := serveIn(t, folder, "MCP_SERVICE=all")
			s.send(t, 1, c.tool, map[string]any{})
			var ids []string
			require.Eventually(t, func() bool {
				text, err := os.ReadFile(filepath.Join(folder, "ids"))
				ids = strings.Fields(string(text))
				return err == nil
			}, hang, 5*time.Millisecond)
			require.Len(t, ids, 2)
			require.NoError(t, s.command.Process.Signal(syscall.SIGKILL))
			for _, text := range ids {
				id, err := strconv.Atoi(text)
				require.NoError(t, err)
				require.Eventually(t, func() bool { return isGone(id) }, hang, 5*time.Millisecond, "%s still runs", text)
			}
			_, _ = s.command.Process.Wait()
		})
	}
}

// isGroupGone says whether every process of a group has ended, waited for or
// not: what is orphaned waits for whoever is the first process of the machine.
func isGroupGone(group int) bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat") // proc(5): id (name) state parent group …
	if err != nil || len(stats) == 0 {
		return syscall.Kill(-group, 0) != nil
	}
	for _, name := range stats {
		text, _ := os.ReadFile(name) // it may be gone by now
		_, after, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" {
			return false
		}
	}
	return true
}

// No process is left behind: a mounted server that ends neither with its input
// nor by SIGTERM is killed, and so is what it started.
func TestASignalEndsMountedServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	self, err := exec.LookPath("savant")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
	script := fmt.Sprintf("trap '' TERM; echo $$ > pid; %s mcp; sleep 600 & wait; sleep 600", self)
	config := fmt.Sprintf(`{"mcpServers": {"odd": {"command": "sh", "args": ["-c", %q], "env": {"MCP_SERVICE": "git"}}}}`, script)
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant/mcp.json"), []byte(config), 0o600))
	trusts(t, folder)

	s := serveIn(t, folder, "MCP_SERVICE=think,odd")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(folder, ".savant/mcp.lock.json"))
		return err == nil
	}, hang, 10*time.Millisecond, "the server was not discovered")
	data, err := os.ReadFile(filepath.Join(folder, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.wait(t))
	require.Eventually(t, func() bool { return isGroupGone(group) }, hang, 10*time.Millisecond, "a process is left")
}
