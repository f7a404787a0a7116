package main

import (
	"bufio"
	"bytes"
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
    call: git.show
    input_template: {ref: nothing}
    retry: {max: 1, backoff: 1h}
`

// A run that is interrupted says how to go on, and stands where it stood.
func TestAnInterruptedRunCanBeContinued(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "patient.yaml"), []byte(patient), 0o644))
			command := exec.Command("savant", "workflows", "run", "patient", "--run-id", "r1", "--path", folder)
			stderr, err := command.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			lines := bufio.NewScanner(stderr)
			require.True(t, lines.Scan())
			require.Regexp(t, `^refused wait git\.show \(attempt 1\): TOOL_FAILED: .*; again in 1h0m0s$`, lines.Text())
			require.NoError(t, command.Process.Signal(signal))
			var rest bytes.Buffer
			for lines.Scan() {
				rest.WriteString(lines.Text() + "\n")
			}
			require.Error(t, command.Wait())
			require.Equal(t, exitInterrupted, command.ProcessState.ExitCode(), rest.String())
			require.Equal(t, "run r1 of patient: interrupted\n  to go on: savant workflows run patient --run-id r1\n", rest.String())
			require.Equal(t, 2, verified(t, folder, "r1"), "the plan, and the attempt that failed")
			out, err := exec.Command("savant", "state", "get", "r1", "--path", folder).Output()
			require.NoError(t, err)
			require.True(t, strings.Contains(string(out), `"status": "issued"`), string(out))
		})
	}
}
