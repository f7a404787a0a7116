//go:build unix

package program

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// A run in a database is driven by one process of all machines. When that was killed,
// another one drives it once no heartbeat came for a lease.
func TestARunInADatabaseIsDrivenByOneProcess(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	database := mongotest.Start(t)
	uri := database.URI(mongotest.NewDatabase())
	on := func(folder string, args ...string) *exec.Cmd {
		command := exec.Command("savant", append([]string{"--path", folder}, args...)...)
		command.Env = append(os.Environ(), "SAVANT_STORE=mongo", "MONGO_URI="+uri, "HOME="+folder, "XDG_CACHE_HOME="+folder)
		return command
	}
	drive := func(command *exec.Cmd) string {
		t.Helper()
		stderr, err := command.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() })
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if line := lines.Text(); line[:4] != "time" { // of the log
				go func() {
					for lines.Scan() {
					}
				}()
				return line
			}
		}
		return ""
	}
	one, other := patientIn(t), patientIn(t)
	first := on(one, "workflows", "run", "patient", "--name", "r1")
	require.Contains(t, drive(first), "refused wait ci.run_tests (attempt 1)")

	out, err := on(other, "workflows", "run", "patient", "--run-id", "r1").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "STATE_CONFLICT: another process drives run r1; continue the run when that process has ended")
	out, err = on(other, "state", "list").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `r1 +patient +running`, string(out))

	require.NoError(t, first.Process.Signal(syscall.SIGKILL))
	_ = first.Wait()
	killed := time.Now()
	second := on(other, "workflows", "run", "patient", "--run-id", "r1", "--json")
	require.NoError(t, second.Start())
	t.Cleanup(func() { _ = second.Process.Kill() })
	opened, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened.Close(context.Background()) })
	drivers := jobs.New(opened.Collection("state_drivers"))
	former, err := drivers.Holder(t.Context(), "patient/r1")
	require.NoError(t, err)
	require.True(t, former.Holds)
	require.Eventually(t, func() bool {
		holder, err := drivers.Holder(t.Context(), "patient/r1")
		return err == nil && holder.Owner != former.Owner && holder.Holds
	}, time.Minute, 100*time.Millisecond)
	t.Logf("taken over after %s", time.Since(killed).Round(100*time.Millisecond))

	require.NoError(t, second.Process.Signal(os.Interrupt))
	_ = second.Wait()
	holder, err := drivers.Holder(t.Context(), "patient/r1")
	require.NoError(t, err)
	require.False(t, holder.Holds, "it let go of the run")
}
