//go:build linux

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnAnswerOnTheCommandLineIsJSON: --answer of a question without a schema is JSON, as
// its help says, or else a text.
func TestAnAnswerOnTheCommandLineIsJSON(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{`{"x":1}`: `"outputs":{"g":1}`, "go on": `"outputs":{"g":"go on"}`} {
		folder := t.TempDir()
		output := "g?.x"
		if answer == "go on" {
			output = "g"
		}
		require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "w.yaml"), []byte(`name: w
version: "1.0"
steps:
  - {id: q, call: human.ask, input_template: {message: "go on?"}, capture_as: g}
outputs: {g: "{{ `+output+` }}"}
`), 0o600))
		savantIn(t, folder, "call", "think.plan", "--args", `{"workflow":"w","run_id":"r"}`)
		person, program := atTerminal(t)
		command := exec.Command("savant", "--path", folder, "approve", "r", "--answer", answer)
		command.Stdin, command.Stderr, command.Stdout = program, program, program
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
		readUntil(t, person, "[y/N] ")
		_, err := person.WriteString("y\n")
		require.NoError(t, err)
		require.NoError(t, command.Wait())
		journal, err := os.ReadFile(filepath.Join(folder, ".savant", "state", "w", "r.journal"))
		require.NoError(t, err)
		require.Contains(t, string(journal), want)
	}
}
