//go:build linux

package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// longWork is a project whose command writes lines until the file "enough" is there,
// and silentWork one whose command writes none.
func longWork(t *testing.T) *stage {
	t.Helper()
	return work(t, "echo still digging; ")
}

func silentWork(t *testing.T) *stage {
	t.Helper()
	return work(t, "")
}

func work(t *testing.T, says string) *stage {
	t.Helper()
	s := setStage(t, "../../agent/testdata/scenarios/finish.txtar")
	for name, text := range map[string]string{
		".savant/ci.yaml":     "commands: {dig: {command: [sh, -c, 'while [ ! -e enough ]; do " + says + "sleep 0.05; done']}}\n",
		"workflows/dig.yaml":  "name: dig\nversion: \"1\"\nsteps:\n  - {id: go, call: ci.run, input_template: {name: dig}}\n",
		"workflows/deep.yaml": "name: deep\nversion: \"1\"\nsteps:\n  - {id: down, call: workflow.workflow_run, input_template: {workflow: dig}}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600))
	}
	trust := exec.Command("savant", "trust", "--yes")
	trust.Env = s.environment
	out, err := trust.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return s
}

func (s *stage) enough(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "enough"), nil, 0o600))
}

// Whoever sits at the terminal sees how far a call is that takes long, whatever made
// it. The answer alone is on stdout.
func TestATerminalShowsHowFarLongWorkIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		asks  bool
		shows string
	}{
		"a workflow":                   {[]string{"workflows", "run", "dig"}, false, "… go ci.run 1s: still digging"},
		"a workflow below another":     {[]string{"workflows", "run", "deep"}, false, "… down workflow.workflow_run 1s: go: still digging"},
		"a workflow that an agent ran": {[]string{"run", "--workflow", "dig", "go"}, true, "s: go: still digging"},
		"a call of an agent": {[]string{"run", "--force-tool", "ci.run", "--force-args", `{"name":"dig"}`, "--force-finish", "--allow", "*", "go"},
			false, "… ci.run 1s: still digging"},
	} {
		t.Run(name, func(t *testing.T) {
			s := longWork(t)
			person, program := atTerminal(t)
			command := exec.Command("savant", c.args...)
			var stdout bytes.Buffer
			command.Env, command.Stdin, command.Stderr, command.Stdout = append(s.environment, "NO_COLOR=1"), program, program, &stdout
			require.NoError(t, command.Start())
			t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
			t.Cleanup(func() { s.enough(t) })
			if c.asks {
				readUntil(t, person, "[y/N] ")
				_, err := person.WriteString("y\n")
				require.NoError(t, err)
			}
			readUntil(t, person, c.shows)
			s.enough(t)
			readUntil(t, person, "run ") // what ends it
			require.NoError(t, command.Wait())
			require.NotContains(t, stdout.String(), "working")
			require.NotContains(t, stdout.String(), ": still digging\n")
		})
	}
}

// Work that says nothing shows that it goes on, and for how long.
func TestATerminalShowsSecondsOfSilentWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		shows string
	}{
		"a workflow":         {[]string{"workflows", "run", "dig"}, "… go ci.run 1s"},
		"a call":             {[]string{"call", "ci.run", "--args", `{"name":"dig"}`}, "… ci.run 1s"},
		"a call of an agent": {[]string{"run", "--force-tool", "ci.run", "--force-args", `{"name":"dig"}`, "--force-finish", "--allow", "*", "go"}, "… ci.run 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := silentWork(t)
			person, program := atTerminal(t)
			command := exec.Command("savant", c.args...)
			command.Env, command.Stderr = append(s.environment, "NO_COLOR=1", "MCP_SERVICE=agent,ci"), program
			require.NoError(t, command.Start())
			t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
			t.Cleanup(func() { s.enough(t) })
			readUntil(t, person, c.shows)
			s.enough(t)
			require.NoError(t, command.Wait())
		})
	}
}

// Without a terminal, and with --quiet, no progress is shown.
func TestOnlyATerminalShowsHowFarLongWorkIs(t *testing.T) {
	t.Parallel()
	agent := []string{"run", "--force-tool", "ci.run", "--force-args", `{"name":"dig"}`, "--force-finish", "--allow", "*", "go"}
	for name, args := range map[string][]string{"a workflow": {"workflows", "run", "dig"}, "an agent": agent, "a quiet agent": append(agent, "--quiet")} {
		t.Run(name, func(t *testing.T) {
			s := longWork(t)
			require.NoError(t, os.WriteFile(filepath.Join(s.folder, ".savant", "ci.yaml"),
				[]byte("commands: {dig: {command: [sh, -c, 'for i in 1 2 3 4 5 6 7 8; do echo still digging; sleep 0.1; done']}}\n"), 0o600))
			trust := exec.Command("savant", "trust", "--yes")
			trust.Env = s.environment
			require.NoError(t, trust.Run())
			command := exec.Command("savant", args...)
			if name == "a quiet agent" {
				person, program := atTerminal(t)
				command.Env, command.Stderr = s.environment, program
				require.NoError(t, command.Run())
				_, err := program.WriteString("over")
				require.NoError(t, err)
				require.NotContains(t, readUntil(t, person, "over"), "still digging")
				return
			}
			var stderr bytes.Buffer
			command.Env, command.Stderr = s.environment, &stderr
			require.NoError(t, command.Run(), stderr.String())
			require.NotContains(t, stderr.String(), "still digging")
		})
	}
}

// TestADumbTerminalGetsPlainLines: it shows what it cannot do as letters.
func TestADumbTerminalGetsPlainLines(t *testing.T) {
	t.Parallel()
	s := longWork(t)
	s.enough(t)
	person, program := atTerminal(t)
	command := exec.Command("savant", "workflows", "run", "dig")
	command.Env, command.Stderr = append(s.environment, "TERM=dumb"), program
	require.NoError(t, command.Start())
	shown := readUntil(t, person, "run ") // what ends it
	require.NoError(t, command.Wait())
	require.Contains(t, shown, "done    go ci.run")
	require.NotContains(t, shown, "\x1b")
}
