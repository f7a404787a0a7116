//go:build unix

package program

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// untilGo has a command that says that it runs, and runs until a file is there.
const untilGo = `commands: {tests: {command: [sh, -c, "echo $$ > written; mv written started; while ! [ -e go ]; do sleep 0.05; done; echo said"]}}`

// A client that closed its stream gets the answer to a long call while it reads;
// one that is gone keeps no server, and no command, running.
func TestACallEndsWithItsReaderNotWithItsStream(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{true, false} {
		t.Run("reads "+strconv.FormatBool(reads), func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(folder, ".savant"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "ci.yaml"), []byte(untilGo), 0o600))
			trusts(t, folder)
			command := exec.Command("savant", "mcp", "--path", folder)
			command.Env = append(os.Environ(), "MCP_SERVICE=ci")
			in, err := command.StdinPipe()
			require.NoError(t, err)
			out, err := command.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ci_run_tests"}}`+"\n")
			require.NoError(t, err)
			child := startedIn(t, folder)
			require.NoError(t, in.Close())
			if reads {
				require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
				line, err := bufio.NewReader(out).ReadString('\n')
				require.NoError(t, err)
				require.Contains(t, line, "said")
			} else {
				require.NoError(t, out.Close())
			}
			require.NoError(t, command.Wait())
			require.Eventually(t, func() bool { return isGone(child) }, hang, 10*time.Millisecond)
		})
	}
}

// startedIn waits for a command that says that it runs, and returns its process.
func startedIn(t *testing.T, folder string) int {
	t.Helper()
	var text []byte
	require.Eventually(t, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(folder, "started"))
		return err == nil
	}, hang, 10*time.Millisecond)
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return process
}
