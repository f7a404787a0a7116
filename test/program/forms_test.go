package program

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// orderYAML asks for a value of each kind, in an order that no sorting gives. Its own
// schema is one of the file.
const orderYAML = `name: ships
version: "1"
params:
  zoo: {type: string, default: big}
  ape: {type: boolean, default: true}
schemas:
  order:
    type: object
    required: [size, colours, gift]
    additionalProperties: false
    properties:
      size: {type: integer, minimum: 2, maximum: 5, description: "How <b>large</b>"}
      gift: {type: boolean, title: As a gift}
      colours: {type: array, minItems: 1, items: {enum: [red, "<i>blue", 3]}}
      by: {type: string, format: date}
      kind: {oneOf: [{const: z, title: The last}, {const: a, title: The first}]}
      at: {type: object, required: [street], properties: {street: {type: string, minLength: 2}, no: {type: [integer, "null"]}}}
steps:
  - {id: ask, call: human.ask, input_template: {message: "What?"}, success_schema: order, capture_as: ask}
`

// orderIn returns a folder with that workflow, with its schema in the input or not.
func orderIn(t *testing.T, inInput bool) (folder string) {
	t.Helper()
	text := orderYAML
	if inInput {
		_, schema, _ := strings.Cut(text, "  order:\n")
		schema, _, _ = strings.Cut(schema, "steps:\n")
		text = strings.Replace(text, "input_template: {message: \"What?\"}, success_schema: order", "input_template: {message: \"What?\", schema: {$ref: order}}", 1)
		text = strings.Replace(text, "  - {id: ask, call: human.ask, input_template: {message: \"What?\", schema: {$ref: order}}, capture_as: ask}\n",
			"  - id: ask\n    call: human.ask\n    capture_as: ask\n    input_template:\n      message: \"What?\"\n      schema:\n"+regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(schema, "        "), 1)
	}
	folder = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ships.yaml"), []byte(text), 0o600))
	return folder
}

// formClient speaks to a server with forms of its own.
type formClient struct {
	t *testing.T
	s *server
}

// heard is what a server sent: a question, or the reply to a call.
type heard struct {
	ID     any
	Method string
	Params struct {
		Message         string
		RequestedSchema json.RawMessage
	}
	Result struct{ StructuredContent json.RawMessage }
}

func newFormClient(t *testing.T, folder, services string) formClient {
	t.Helper()
	c := formClient{t, serveIn(t, folder, "MCP_SERVICE="+services)}
	c.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	c.hear()
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c formClient) say(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.s.stdin, line+"\n")
	require.NoError(c.t, err)
}

func (c formClient) hear() (got heard) {
	c.t.Helper()
	require.True(c.t, c.s.lines.Scan())
	require.NoError(c.t, json.Unmarshal(c.s.lines.Bytes(), &got))
	return got
}

// fills accepts a question with a content, and returns what comes next.
func (c formClient) fills(asked heard, content string) heard {
	c.t.Helper()
	require.Equal(c.t, "elicitation/create", asked.Method)
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":%s}}`, asked.ID, content))
	return c.hear()
}

// TestAClientShowsAFormInOrder: the form of a client has the fields in the order in which
// they are written, a boolean for each entry of a list, and what does not fit is asked for
// again with the reason.
func TestAClientShowsAFormInOrder(t *testing.T) {
	t.Parallel()
	for _, inInput := range []bool{false, true} {
		folder := orderIn(t, inInput)
		c := newFormClient(t, folder, "think")
		c.s.send(t, 2, "think.plan", map[string]any{"workflow": "ships", "run_id": "r1"})
		asked := c.hear()
		var shown struct {
			Properties json.RawMessage
			Required   []string
		}
		require.NoError(t, json.Unmarshal(asked.Params.RequestedSchema, &shown))
		var names []string
		for _, each := range regexp.MustCompile(`"([^"]+)":\{`).FindAllStringSubmatch(string(shown.Properties), -1) {
			names = append(names, html.UnescapeString(strings.ReplaceAll(each[1], `\u003c`, "<")))
		}
		require.Equal(t, []string{"size", "gift", "colours.red", "colours.<i>blue", "colours.3", "by", "kind", "at.street", "at.no"}, names)
		require.Equal(t, []string{"size", "gift", "colours.red", "colours.<i>blue", "colours.3"}, shown.Required)
		asked = c.fills(asked, `{}`)
		require.Contains(t, asked.Params.Message, "The answer does not fit: ")
		require.Contains(t, asked.Params.Message, "missing property")
		asked = c.fills(asked, `{"size":9,"gift":false,"colours.red":true,"colours.3":true}`)
		require.Contains(t, asked.Params.Message, "at most 5")
		reply := c.fills(asked, `{"size":3,"gift":false,"colours.red":true,"colours.<i>blue":false,"colours.3":true,"kind":"a","at.street":"Main"}`)
		require.EqualValues(t, 2, reply.ID)
		require.JSONEq(t, `{"size":3,"gift":false,"colours":["red",3],"kind":"a","at":{"street":"Main"}}`, captured(t, folder, "r1", "ask"))
		require.Contains(t, savantIn(t, folder, "verify", "r1"), "identical")
	}
}

// TestAClientsEmptyAnswerIsAskedForAgain three times, and then the run waits.
func TestAClientsEmptyAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "ships.yaml"), []byte(`name: ships
version: "1"
steps:
  - {id: ask, call: human.ask, input_template: {message: "What?"}, capture_as: ask}
`), 0o600))
	c := newFormClient(t, folder, "think,agent")
	c.s.send(t, 2, "think.plan", map[string]any{"workflow": "ships", "run_id": "r1"})
	asked := c.hear()
	c.s.send(t, 3, "agent.status", map[string]any{"run_id": "none", "wait_ms": 0})
	require.EqualValues(t, 3, c.hear().ID, "a call is answered while the form is open")
	c.s.send(t, 4, "think.state.get", map[string]any{"workflow": "ships", "run_id": "r1"})
	require.EqualValues(t, 4, c.hear().ID)
	for range 3 {
		asked = c.fills(asked, `{}`)
		require.Contains(t, asked.Params.Message, "The answer does not fit: nothing was filled in")
	}
	reply := c.fills(asked, `{}`)
	require.EqualValues(t, 2, reply.ID)
	require.Contains(t, string(reply.Result.StructuredContent), `"status":"waiting"`)
	c.s.send(t, 5, "think.next", map[string]any{"workflow": "ships", "run_id": "r1", "step_id": "ask"})
	reply = c.fills(c.hear(), `{"answer":"this"}`)
	require.EqualValues(t, 5, reply.ID)
	require.JSONEq(t, `"this"`, captured(t, folder, "r1", "ask"))
}

// TestThePageShowsAFormInOrder: the hub shows what can be chosen, and what does not fit with
// the reason and with what was filled in.
func TestThePageShowsAFormInOrder(t *testing.T) {
	t.Parallel()
	folder := orderIn(t, false)
	h := serveHub(t, folder)
	start := h.page("/workflows/ships")
	require.Regexp(t, `(?s)name="field.0".*big.*type="checkbox" id="field.1" name="field.1" value="true" checked`, start)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1")
	page := h.page("/runs/ships/r1")
	require.Regexp(t, `(?s)type="number" id="ask.field.0" name="field.0" min="2" max="5" step="1".*integer; 2 to 5`+
		`.*type="checkbox" id="ask.field.1" name="field.1" value="true".*As a gift`+
		`.*<fieldset id="ask.field.2".*name="field.2" value="0"> red.*name="field.2" value="1"> &lt;i&gt;blue.*name="field.2" value="2"> 3.*at least 1 entry`+
		`.*field.3.*format date.*<select id="ask.field.4" name="field.4".*<option value="0">The last</option><option value="1">The first</option>`+
		`.*at\.street.*at least 2 characters.*at\.no`, page)
	require.Contains(t, page, "How &lt;b&gt;large&lt;/b&gt;")
	form := h.formOf(page, "/runs/ships/r1/answer")
	send := func(fields url.Values) (int, string) {
		sent := clone(form)
		for name, values := range fields {
			sent[name] = values
		}
		return h.send("/runs/ships/r1/answer", sent)
	}
	status, body := send(url.Values{"field.0": {"9"}, "field.1": {"true"}, "field.2": {"2", "0"}, "field.3": {"soon"}, "field.4": {"1"}, "field.5": {"M"}, "field.6": {"x"}})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Regexp(t, `(?s)value="9".*value="true" checked.*value="0" checked> red.*value="1"> &lt;i&gt;.*value="2" checked> 3.*soon</textarea>.*<option value="1" selected>.*M</textarea>`, body)
	status, body = send(url.Values{"field.0": {"9"}, "field.3": {"soon"}, "field.5": {"M"}})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	for input, reason := range map[string]string{"0": "at most 5", "2": "at least 1", "3": "date", "5": "at least 2"} {
		require.Regexp(t, `id="ask.field.`+input+`-wrong">[^<]*`+reason, body)
	}
	status, body = send(url.Values{"field.0": {"5"}, "field.2": {"1", "2"}, "field.4": {"0"}})
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, `{"size":5,"gift":false,"colours":["<i>blue",3],"kind":"z"}`, captured(t, folder, "r1", "ask"))
	require.Contains(t, savantIn(t, folder, "verify", "r1"), "identical")
}
