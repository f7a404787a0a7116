package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// patient is a workflow whose first step fails and is tried again in an hour.
const patient = `name: patient
version: "1.0"
steps:
  - id: wait
    call: ci.run_tests
    retry: {max: 1, backoff: 1h}
`

func patientIn(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "patient.yaml"), []byte(patient), 0o644))
	return folder
}

// A run that is interrupted says how to go on, and stands where it stood.
func TestAnInterruptedRunCanBeContinued(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			folder := patientIn(t)
			command := exec.Command("savant", "workflows", "run", "patient", "--name", "r1", "--path", folder)
			stderr, err := command.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			lines := bufio.NewScanner(stderr)
			require.True(t, lines.Scan())
			require.Regexp(t, `^refused wait ci\.run_tests \(attempt 1\): TOOL_FAILED: ENGINE_OFFLINE: .*; again in 1h0m0s$`, lines.Text())
			require.NoError(t, command.Process.Signal(signal))
			var rest bytes.Buffer
			for lines.Scan() {
				rest.WriteString(lines.Text() + "\n")
			}
			require.Error(t, command.Wait())
			require.Equal(t, 128+int(signal), command.ProcessState.ExitCode(), rest.String())
			require.Equal(t, "run r1 of patient: interrupted\n  to go on: savant workflows run patient --run-id r1\n", rest.String())
			require.Equal(t, 2, verified(t, folder, "r1"), "the plan, and the attempt that failed")
			out, err := exec.Command("savant", "state", "get", "r1", "--path", folder).Output()
			require.NoError(t, err)
			require.True(t, strings.Contains(string(out), `"status": "issued"`), string(out))
		})
	}
}

// Over MCP a run goes on in the server once its call has waited enough; a call
// that is cancelled interrupts it and has no reply; the end of the server
// interrupts it, too, and loses nothing.
func TestARunGoesOnInTheServer(t *testing.T) {
	t.Parallel()
	folder := patientIn(t)
	s := serveIn(t, folder, "MCP_SERVICE=workflow")
	status := func(id int) string {
		require.True(t, s.lines.Scan())
		var got struct {
			ID     int
			Result struct {
				IsError           bool
				StructuredContent struct{ Status string }
			}
		}
		require.NoError(t, json.Unmarshal(s.lines.Bytes(), &got))
		require.Equal(t, id, got.ID, s.lines.Text())
		require.False(t, got.Result.IsError, s.lines.Text())
		return got.Result.StructuredContent.Status
	}
	s.send(t, 1, "workflow.workflow_run", map[string]any{"workflow": "patient", "run_id": "r1", "wait_ms": 1})
	require.Equal(t, "running", status(1))
	s.send(t, 2, "workflow_workflow_run", map[string]any{"run_id": "r1", "wait_ms": 3600000})
	_, err := io.WriteString(s.stdin, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
	require.NoError(t, err)
	s.send(t, 3, "workflow_workflow_run", map[string]any{"run_id": "r1", "wait_ms": 1})
	require.Equal(t, "running", status(3), "the second call is over, and a new drive has begun")
	require.NoError(t, s.stdin.Close())
	require.False(t, s.lines.Scan(), s.lines.Text())
	require.NoError(t, s.wait(t))
	require.LessOrEqual(t, verified(t, folder, "r1"), 2)
}

// An interrupt before the run exists is reported, in JSON if the command was asked for
// JSON.
func TestARunThatIsInterruptedBeforeItBegins(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "w.yaml"), []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: human.approve}]\n"), 0o600))
	for _, format := range [][]string{nil, {"--json"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"workflows", "run", "w"}, format...), []string{"SAVANT_PATH=" + folder, "HOME=" + folder}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitInterrupted, code, stderr.String())
		require.Contains(t, stderr.String(), "the run of w was interrupted before it started: run the same command again")
		if format == nil {
			require.Empty(t, stdout.String())
		} else {
			require.Contains(t, stdout.String(), `"status": "interrupted"`)
		}
	}
}

// A run that one process drives is cancelled by another: the first ends at once, though
// its step would be tried again in an hour.
func TestADrivenRunIsCancelled(t *testing.T) {
	t.Parallel()
	folder := patientIn(t)
	command := exec.Command("savant", "workflows", "run", "patient", "--name", "r1", "--path", folder)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "again in 1h0m0s")
	out, err := exec.Command("savant", "state", "cancel", "r1", "--reason", "no more", "--path", folder).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "the process that drives it stops its calls")
	require.True(t, lines.Scan())
	require.Regexp(t, `^run r1 of patient: cancelled: patient 1.0: cancelled by .+: no more, 0 of 1 steps ran$`, lines.Text())
	require.Error(t, command.Wait())
	require.Equal(t, exitConflict, command.ProcessState.ExitCode())
	require.Equal(t, 3, verified(t, folder, "r1"), "the plan, the attempt that failed, and the end")
}
