package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// shipsYAML asks a person twice, by approval and by fields, and does something with it.
const shipsYAML = `name: ships
version: "1"
params:
  message: {type: string, default: "Ship it?"}
  count: {type: integer, default: 1}
steps:
  - {id: sure, call: human.approve, input_template: {message: "{{ params.message }}"}, capture_as: sure}
  - id: where
    when: state.sure.approved
    call: human.ask
    input_template:
      message: "Where to?"
      schema: {type: object, required: [colour, count], properties: {colour: {enum: [red, blue]}, count: {type: integer, minimum: 1}, notes: {type: array, items: {type: string}}}}
    capture_as: at
  - {id: last, when: state.sure.approved, call: flow.set, input_template: {value: "{{ state.at }}"}, capture_as: last, deps: [where]}
`

// shipsIn returns a folder with that workflow.
func shipsIn(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ships.yaml"), []byte(shipsYAML), 0o600))
	return folder
}

// types writes into a field, as with the keyboard; what stood there is gone.
func (p *tab) types(field, text string) {
	p.t.Helper()
	eval[bool](p, `(document.querySelector($1).value = "", true)`, field)
	p.do(chromedp.SendKeys(chromedp.CSS(field), text))
}

// chooses takes a value of a list, with the keyboard.
func (p *tab) chooses(list, label string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS(list), label))
	require.Equal(p.t, label, p.chosen(list))
}

func (p *tab) chosen(list string) string {
	p.t.Helper()
	return eval[string](p, `document.querySelector($1).selectedOptions[0].label`, list)
}

// unfold opens what stands below a button of a run's page.
func (p *tab) unfold(label string) {
	p.t.Helper()
	p.until(`(() => { const found = [...document.querySelectorAll("details.act > summary")].find((each) => each.textContent.startsWith($1)); found?.click(); return found?.parentElement.open === true; })()`, label)
}

// captured is what a run has kept by a name.
func captured(t *testing.T, folder, run, name string) string {
	t.Helper()
	var got struct{ Value json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(savantIn(t, folder, "state", "get", run, "--var", name, "--json")), &got))
	return string(got.Value)
}

// message is a line of a server.
type message struct {
	ID     any
	Method string
	Params struct{ RequestID any }
	Result struct{ StructuredContent struct{ Done bool } }
}

// client speaks to a savant mcp of its own, over stdio.
func client(t testing.TB, folder string) (say func(string), hear func() message) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "savant", "mcp")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error", "MCP_SERVICE=think")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = in.Close(); _, _ = io.Copy(io.Discard, out); _ = command.Wait() }) // it ends with its input
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	return func(line string) {
			t.Helper()
			_, err := io.WriteString(in, line+"\n")
			require.NoError(t, err)
		}, func() (got message) {
			t.Helper()
			require.True(t, lines.Scan(), "the server has ended")
			require.NoError(t, json.Unmarshal(lines.Bytes(), &got), lines.Text())
			return got
		}
}

// TestAnswersInThePageContinueAWaitingCall: a client waits in think.plan with a form of
// its own open. The answers in the page close its forms, and its call returns.
func TestAnswersInThePageContinueAWaitingCall(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	say, hear := client(t, folder)
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	hear()
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"think.plan","arguments":{"workflow":"ships","run_id":"r1"}}}`)
	asked := hear()
	require.Equal(t, "elicitation/create", asked.Method)

	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.open(h.base + "/runs/ships/r1")
	p.says("#asked", "Your approval is asked for")
	p.says("#asked .shown", "Ship it?")
	p.types(`textarea[name="comment"]`, "looks good")
	p.follow(`button[value="approve"]`)
	taken := hear()
	require.Equal(t, "notifications/cancelled", taken.Method)
	require.Equal(t, asked.ID, taken.Params.RequestID)
	asked = hear()
	require.Equal(t, "elicitation/create", asked.Method)

	p.says("#asked", "Where to?")
	p.chooses(`select[name="field.0"]`, "blue")
	p.types(`[name="field.1"]`, "1.5")
	p.types(`[name="field.2"]`, `["a"]`)
	p.follow(`.ask button.yes`)
	p.says(`[id$="field.1-wrong"]`, "Expected integer")
	require.Equal(t, "blue", p.chosen(`select[name="field.0"]`), "what was filled in stays")
	p.types(`[name="field.1"]`, "0") // a number, and less than the schema takes
	p.follow(`.ask button.yes`)
	p.says(`[id$="field.1-wrong"]`, "1")
	require.Equal(t, `["a"]`, eval[string](p, `document.querySelector('[name="field.2"]').value`))
	require.JSONEq(t, `{"approved":true,"comment":"looks good"}`, captured(t, folder, "r1", "sure"))
	p.types(`[name="field.1"]`, "3")
	p.follow(`.ask button.yes`)
	p.says(".said", "The answer is recorded.")
	require.Equal(t, "notifications/cancelled", hear().Method)
	reply := hear()
	require.EqualValues(t, 2, reply.ID)
	require.True(t, reply.Result.StructuredContent.Done)
	p.says("#facts", "done")
	require.JSONEq(t, `{"colour":"blue","count":3,"notes":["a"]}`, captured(t, folder, "r1", "last"))
}

// TestADeclinedStepEndsACommand: savant workflows run --wait goes on with the answer of the
// page, which has the reason.
func TestADeclinedStepEndsACommand(t *testing.T) {
	t.Parallel()
	wanted(t)
	folder := shipsIn(t)
	command := exec.CommandContext(t.Context(), "savant", "workflows", "run", "ships", "--name", "r1", "--wait", "--path", folder)
	said, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	reader := bufio.NewReader(said)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "step sure of run r1 waits for a person")

	h := serve(t, folder, "127.0.0.1:0")
	p := h.enter()
	p.says("main", "r1")
	p.follow(`main a[href="/runs/ships/r1"]`)
	p.types(`textarea[name="comment"]`, "not on a Friday")
	p.follow(`button[value="decline"]`)
	p.says(".said", "The answer is recorded.")
	rest, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Contains(t, string(rest), "not on a Friday")
	var failed *exec.ExitError
	require.ErrorAs(t, command.Wait(), &failed)
	p.says("#facts", "failed")
	p.says("#steps", "declined by a person: not on a Friday")
	p.draws(".node.skipped", "where")
}
