//go:build unix

package program

import (
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAClosedTerminalLeavesNoCommandBehind: whatever ends a call, the command
// that it started ends too, and the exit code says that it was interrupted.
func TestAClosedTerminalLeavesNoCommandBehind(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			if signals.Ignored(signal) {
				t.Skip("the tests were started by what ignores this signal, as nohup does, and so are their children")
			}
			folder := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "ci.yaml"),
				[]byte(`commands: {tests: {command: [sh, -c, "echo $$ > written; mv written started; exec sleep 600"]}}`), 0o600))
			trusts(t, folder)
			command := exec.Command("savant", "call", "ci.run_tests", "--path", folder)
			var stderr strings.Builder
			command.Stderr = &stderr
			require.NoError(t, command.Start())
			var started []byte
			require.Eventually(t, func() (there bool) {
				var err error
				started, err = os.ReadFile(filepath.Join(folder, "started"))
				return err == nil
			}, hang, 10*time.Millisecond)
			require.NoError(t, command.Process.Signal(signal))
			require.Error(t, command.Wait())
			require.Equal(t, 128+int(signal), command.ProcessState.ExitCode(), stderr.String())
			child, err := strconv.Atoi(strings.TrimSpace(string(started)))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return isGone(child) }, hang, 10*time.Millisecond)
		})
	}
}
