package program

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/audit"
)

// A server that is asked to end while calls are under way ends well, and what
// it had acknowledged is on disk and replays.
func TestASignalLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	const steps = 300
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			folder := t.TempDir()
			longWorkflow(t, folder, steps)
			s := serveIn(t, folder, "MCP_SERVICE=think")
			s.send(t, 0, "think.plan", map[string]any{"workflow": "long", "run_id": "r1"})
			go func() {
				for i := range steps {
					line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"think_next","arguments":{"run_id":"r1","step_id":"s%d","result_snapshot":%d}}}`+"\n", i+1, i, i)
					if _, err := io.WriteString(s.stdin, line); err != nil {
						return // the server has ended
					}
				}
			}()
			acknowledged := 0
			for got, ok := s.read(t); ok; got, ok = s.read(t) {
				if got.Result.IsError { // a call cut short: nothing is acknowledged
					require.GreaterOrEqual(t, acknowledged, steps/4, s.lines.Text())
					continue
				}
				acknowledged = max(acknowledged, got.Result.StructuredContent.State.Version)
				if got.ID == steps/4 {
					require.NoError(t, s.command.Process.Signal(signal))
				}
			}
			if err := s.wait(t); signal != syscall.SIGKILL {
				require.NoError(t, err)
			}
			require.Greater(t, acknowledged, steps/4)
			require.GreaterOrEqual(t, verified(t, folder, "r1"), acknowledged)
		})
	}
}

// verified returns the version of a run, once a replay has confirmed it.
func verified(t *testing.T, folder, run string) int {
	t.Helper()
	command := exec.Command("savant", "verify", run, "--json", "--path", folder)
	out, err := command.Output()
	require.NoError(t, err, string(out))
	var verdict audit.DebugOutput
	require.NoError(t, json.Unmarshal(out, &verdict))
	require.Equal(t, "identical", verdict.Verdict)
	return verdict.To
}

// A call that never ends does not keep the server.
func TestAStuckCallDoesNotDelayASignal(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stuck := filepath.Join(t.TempDir(), "bin", "git") // one within the folder is not started
	require.NoError(t, os.Mkdir(filepath.Dir(stuck), 0o755))
	require.NoError(t, os.WriteFile(stuck, []byte("#!/bin/sh\ntrap '' TERM INT\n: > started\nwhile :; do sleep 1; done\n"), 0o755))
	s := serveIn(t, folder, "MCP_SERVICE=git", "PATH="+filepath.Dir(stuck)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s.send(t, 1, "git.status", map[string]any{})
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "started")); return err == nil }, hang, time.Millisecond)
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	for _, ok := s.read(t); ok; _, ok = s.read(t) {
		continue
	}
	require.NoError(t, s.wait(t))
}

// A client that closes stderr early goes on being served.
func TestAClosedStderrDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	reads, writes, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command("savant", "mcp")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=debug", "MCP_SERVICE=think")
	command.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	command.Stderr = writes
	require.NoError(t, reads.Close())
	out, err := command.Output()
	require.NoError(t, err)
	require.NoError(t, writes.Close())
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, string(out))
}
