//go:build linux

package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// atTerminal opens a pseudo-terminal (pty(7)): what is written to person is typed
// at program, and what the program prints can be read there.
func atTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = person.Close() }) // only used here
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// TestATerminalIsAskedBeforeADestructiveCall plays the scenarios in which a
// person answers: the question names the call, and what is typed decides.
func TestATerminalIsAskedBeforeADestructiveCall(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]string{"destructive_confirmed": "y\n", "destructive_declined": "n\n"} {
		t.Run(name, func(t *testing.T) {
			s := setStage(t, "../../agent/testdata/scenarios/"+name+".txtar")
			person, program := atTerminal(t)
			command := s.command()
			var stdout bytes.Buffer
			command.Stdin, command.Stderr, command.Stdout = program, program, &stdout
			require.NoError(t, command.Start())
			t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
			require.Contains(t, readUntil(t, person, "[y/N] "), `Call test.destroy {"text":"a"}? [y/N] `)
			_, err := person.WriteString(typed)
			require.NoError(t, err)
			require.NoError(t, command.Wait())
			s.check(t, readStream(t, stdout.String()))
		})
	}
}

// TestATerminalIsAskedAboutTheCallsOfAWorkflow: a workflow that a person ordered is
// not asked about, what it would destroy is.
func TestATerminalIsAskedAboutTheCallsOfAWorkflow(t *testing.T) {
	t.Parallel()
	for typed, runs := range map[string]bool{"y\n": true, "n\n": false, "\n": false} {
		t.Run(strings.TrimSpace(typed), func(t *testing.T) {
			s := setStage(t, "../../agent/testdata/scenarios/finish.txtar")
			for name, text := range map[string]string{
				".savant/ci.yaml":     "commands: {mark: {command: [touch, ran]}}\n",
				"workflows/mark.yaml": "name: mark\nversion: \"1\"\nsteps:\n  - {id: go, call: ci.run, input_template: {name: mark}}\n"} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.folder, name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600))
			}
			trust := exec.Command("savant", "trust", "--yes")
			trust.Env = s.environment
			out, err := trust.CombinedOutput()
			require.NoError(t, err, "%s", out)
			person, program := atTerminal(t)
			command := exec.Command("savant", "run", "--quiet", "--workflow", "mark", "go")
			command.Env, command.Stdin, command.Stderr = s.environment, program, program
			require.NoError(t, command.Start())
			t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
			require.Contains(t, readUntil(t, person, "[y/N] "), `Call ci.run {"name":"mark"}? [y/N] `)
			_, err = person.WriteString(typed)
			require.NoError(t, err)
			_ = command.Wait() // how it ends is the script's to say
			_, err = os.Stat(filepath.Join(s.folder, "ran"))
			require.Equal(t, runs, err == nil)
		})
	}
}

// TestAQuestionAtTheTerminalIsInterrupted: who is asked may also press Ctrl-C.
func TestAQuestionAtTheTerminalIsInterrupted(t *testing.T) {
	t.Parallel()
	s := setStage(t, "../../agent/testdata/scenarios/destructive_confirmed.txtar")
	person, program := atTerminal(t)
	command := s.command()
	command.Stdin, command.Stderr = program, program
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
	readUntil(t, person, "[y/N] ")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.Error(t, command.Wait())
	require.Equal(t, exitInterrupted, command.ProcessState.ExitCode())
	require.NoFileExists(t, filepath.Join(s.folder, "written"))
}

// TestAnInterruptedQuestionBeforeFilesIsANo: an interrupt is no fault of the program.
func TestAnInterruptedQuestionBeforeFilesIsANo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module x\n"), 0o600))
	person, program := atTerminal(t)
	command := exec.Command("savant", "init", "--path", folder)
	var stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = program, program, &stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
	readUntil(t, person, "Write it? [y/N] ")
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.Error(t, command.Wait())
	require.Equal(t, exitInterrupted, command.ProcessState.ExitCode())
	require.Equal(t, "savant: nothing was written\n", stderr.String())
	require.NoFileExists(t, filepath.Join(folder, ".savant", "ci.yaml"))
}

// readUntil reads a terminal until it shows a text.
func readUntil(t *testing.T, terminal *os.File, text string) string {
	t.Helper()
	var shown strings.Builder
	buffer := make([]byte, 1<<10)
	for !strings.Contains(shown.String(), text) {
		n, err := terminal.Read(buffer)
		require.NoError(t, err, shown.String())
		shown.Write(buffer[:n])
	}
	return shown.String()
}
