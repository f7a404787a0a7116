package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hanging is a Reasoning API that never answers, and tells who comes.
type hanging chan struct{}

func (h hanging) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client goes
	h <- struct{}{}
	<-r.Context().Done()
}

// startHanging starts a run that waits for an answer, and returns when it does.
func startHanging(t *testing.T, folder string) (command *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	asked := make(hanging, 10)
	server := httptest.NewServer(asked)
	t.Cleanup(server.Close)
	stderr = new(bytes.Buffer)
	command = exec.Command("savant", "run", "--run-id", "slow", "wait for it")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "REASONING_API_URL="+server.URL, "REASONING_API_TIMEOUT_MS=600000", "LOG_LEVEL=error")
	command.Stderr = stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
	<-asked
	return command, stderr
}

// TestInterruptCancelsAndSaves: the first Ctrl-C ends the run, says how to go on
// and is exit code 130.
func TestInterruptCancelsAndSaves(t *testing.T) {
	folder := t.TempDir()
	command, stderr := startHanging(t, folder)
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.Error(t, command.Wait())
	require.Equal(t, exitInterrupted, command.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "Canceled by user; go on with: savant run --resume slow")
	require.Contains(t, printed(t, folder, "runs", "list"), "slow  canceled")
}

// TestAnotherProcessCancelsARun: savant runs cancel reaches it.
func TestAnotherProcessCancelsARun(t *testing.T) {
	folder := t.TempDir()
	command, _ := startHanging(t, folder)
	require.Eventually(t, func() bool { return strings.Contains(printed(t, folder, "runs", "list"), "slow  running") }, time.Minute, time.Millisecond)
	printed(t, folder, "runs", "cancel", "slow")
	require.Error(t, command.Wait())
	require.Equal(t, exitInterrupted, command.ProcessState.ExitCode())
	require.Contains(t, printed(t, folder, "runs", "show", "slow"), "canceled")
}

// printed is what a command prints.
func printed(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.Command("savant", args...)
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error")
	out, err := command.Output()
	require.NoError(t, err)
	return string(out)
}
