//go:build unix

package program

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/claim"
)

// A run of a workflow is driven by one process at a time: what it calls is called
// once. One that is over is there for everybody.
func TestARunIsDrivenByOneProcess(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := t.TempDir()
	run := func(args ...string) (string, int) {
		command := exec.Command("savant", append([]string{"--path", folder}, args...)...)
		command.Env = append(os.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder)
		out, err := command.CombinedOutput()
		if err != nil {
			require.ErrorAs(t, err, new(*exec.ExitError))
		}
		return string(out), command.ProcessState.ExitCode()
	}
	_, code := run("workflows", "run", "hello", "--name", "r")
	require.Equal(t, 8, code)
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	release, err := claim.Take(t.Context(), root, "hello/r")
	require.NoError(t, err)

	said, code := run("workflows", "run", "hello", "--run-id", "r")
	require.Equal(t, 6, code, said)
	require.Contains(t, said, "STATE_CONFLICT: another process drives run r; continue the run when that process has ended")
	_, code = run("workflows", "run", "hello", "--name", "other")
	require.Equal(t, 8, code)
	for _, step := range []string{"greet", "reply"} { // a client that is guided is not kept out
		said, code = run("workflows", "answer", "r", step, "--result", `{"text": "hello"}`)
		require.Equal(t, 0, code, said)
	}
	said, code = run("workflows", "run", "hello", "--run-id", "r")
	require.Equal(t, 0, code, said)

	release()
	_, code = run("workflows", "run", "hello", "--run-id", "other")
	require.Equal(t, 8, code)
}
