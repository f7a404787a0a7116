//go:build linux

package program

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPersonSaysWhatHappened to a call that was lost, in the page and at a terminal: it
// was done, with a result that fits.
func TestAPersonSaysWhatHappened(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ships.yaml"), []byte(`name: ships
version: "1"
steps:
  - {id: pay, call: m.pay, effect: write, input_template: {amount: 5}, success_schema: {type: object, required: [id]}, capture_as: paid}
`), 0o600))
	const lost = `{"run_id":"RUN","step_id":"pay","result_snapshot":{"isError":true,"content":[{"type":"text","text":"{\"error\":\"ENGINE_OFFLINE\",\"details\":\"it is not known\",\"outcome\":\"unknown\"}"}]}}`
	for _, run := range []string{"page", "tty"} {
		savantIn(t, folder, "call", "think.plan", "--args", `{"workflow":"ships","run_id":"`+run+`"}`)
		said, _ := exec.Command("savant", "--path", folder, "call", "think.next", "--args", lost[:11]+run+lost[14:]).CombinedOutput()
		require.Contains(t, string(said), "it is not known")
	}
	h := serveHub(t, folder)
	require.Regexp(t, `(?s)<option value="0">not_done</option><option value="1">done</option>.*field\.1`, h.page("/runs/ships/page"))
	status, body := h.answer("page", "field.0", "1", "field.1", `{"n":1}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "missing property")
	status, body = h.answer("page", "field.0", "1", "field.1", `{"id":7}`)
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"id":7}`, captured(t, folder, "page", "paid"))

	person, program := atTerminal(t)
	command := exec.Command("savant", "--path", folder, "approve", "tty")
	command.Stdin, command.Stderr, command.Stdout = program, program, program
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // where the test failed
	readUntil(t, person, "[1-2]: ")
	_, err := person.WriteString("done\n")
	require.NoError(t, err)
	readUntil(t, person, "(optional): ")
	_, err = person.WriteString(`{"id":8}` + "\n")
	require.NoError(t, err)
	require.NoError(t, command.Wait())
	require.JSONEq(t, `{"id":8}`, captured(t, folder, "tty", "paid"))
	for _, run := range []string{"page", "tty"} {
		require.Contains(t, savantIn(t, folder, "verify", run), "identical")
	}
}
