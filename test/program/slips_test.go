package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/golden"
)

// slipsWorkflow has a call of a tool, an answer of the model, and a person.
const slipsWorkflow = `name: slips
version: "1.0"
params:
  name: {type: string, default: nobody}
  count: {type: integer, default: 1}
steps:
  - {id: look, call: git.log, input_template: {limit: 1}, capture_as: log}
  - id: say
    call: llm.generate
    input_template: {task: "Greet {{ params.name }}", commits: "{{ len(log.commits) }}"}
    success_schema: {type: object, required: [text, n], properties: {text: {type: string}, n: {type: integer}}}
    capture_as: said
  - {id: ok, call: human.approve, input_template: {message: "Send {{ said.text }}?"}}
outputs: {subject: "{{ log.commits[0].subject }}", text: "{{ said.text }}", name: "{{ params.name }}"}
`

const seenWorkflow = `name: seen
version: "1.0"
steps:
  - {id: look, call: git.log, input_template: {limit: 1}, witness: required, capture_as: log}
outputs: {subject: "{{ log.commits[0].subject }}"}
`

// slip is a mistake that a model makes at a step of a run. The server refuses it with a
// code; named is a pattern of what the error must name. Without a code the mistake does
// no harm: the run goes on as if the call were correct, and the reply matches takes. The
// wording of the errors is in testdata/slips.golden.
type slip struct {
	name, at, tool string
	args           any // $RECEIPT and $OTHER stand for receipts; $RUN for the run
	code           fault.Code
	named, takes   string
}

type args = map[string]any

var good = args{"text": "Hello", "n": 1}

var slips = []slip{
	// Starting a run.
	{"flattened parameters", "start", "think_plan", args{"workflow": "slips", "name": "Ada"}, "INVALID_PARAMS", `name.*params.*"name\\?":\\?"Ada`, ""},
	{"parameters under another name", "start", "think_plan", args{"workflow": "slips", "arguments": args{"name": "Ada"}}, "INVALID_PARAMS", `params`, ""},
	{"parameters as text", "start", "think_plan", args{"workflow": "slips", "run_id": "text", "params": `{"name": "Ada"}`}, "", "", `"step_id":"look"`},
	{"a misspelt workflow", "start", "think_plan", args{"workflow": "slps"}, "UNKNOWN_WORKFLOW", `slips`, ""},
	{"the file of a workflow", "start", "think_plan", args{"workflow": "workflows/slips.yaml"}, "UNKNOWN_WORKFLOW", `"slips`, ""},
	{"the name of a file", "start", "think_plan", args{"workflow": "slips.yaml"}, "UNKNOWN_WORKFLOW", `"slips`, ""},
	{"the address of a workflow", "start", "think_plan", args{"workflow": "savant://workflows/slips"}, "UNKNOWN_WORKFLOW", `"slips`, ""},
	{"a workflow as name", "start", "think_plan", args{"name": "slips"}, "INVALID_PARAMS", `workflow`, ""},
	{"parameters as faulty text", "start", "think_plan", args{"workflow": "slips", "params": `{"name": "Ada",}`}, "INVALID_PARAMS", `params`, ""},
	{"parameters as a list", "start", "think_plan", args{"workflow": "slips", "params": []any{args{"name": "Ada"}}}, "INVALID_PARAMS", `params`, ""},
	{"a parameter in other letters", "start", "think_plan", args{"workflow": "slips", "params": args{"Name": "Ada"}}, "INVALID_PARAMS", `name`, ""},
	{"a misspelt parameter", "start", "think_plan", args{"workflow": "slips", "params": args{"nmae": "Ada"}}, "INVALID_PARAMS", `name`, ""},
	{"a parameter of the wrong type", "start", "think_plan", args{"workflow": "slips", "params": args{"count": "two"}}, "INVALID_PARAMS", `integer`, ""},
	{"a tool's name with dots", "start", "think.plan", args{"workflow": "slips", "run_id": "dots"}, "", "", `"step_id":"look"`},
	// Calling tools.
	{"a misspelt tool", "look", "think_nxt", args{"step_id": "look"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"a tool with the client's prefix", "look", "mcp__savant__think_next", args{"step_id": "look"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"a tool with another prefix", "look", "functions.think_next", args{"step_id": "look"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"the end of a tool's name", "look", "next", args{"step_id": "look"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"a model's step as a tool", "say", "llm_generate", args{"task": "Greet Ada"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"a person's step as a tool", "ok", "human_approve", args{"message": "Send?"}, "UNKNOWN_TOOL", `think_next`, ""},
	{"an argument of the wrong type", "look", "git_log", args{"limit": "five"}, "INVALID_PARAMS", `git_log.*limit`, ""},
	// Answering with the wrong arguments.
	{"result for result_snapshot", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result": good}, "INVALID_PARAMS", `result_snapshot`, ""},
	{"output for result_snapshot", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "output": good}, "INVALID_PARAMS", `result_snapshot`, ""},
	{"receipt for result_ref", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "_receipt": "$RECEIPT"}, "INVALID_PARAMS", `result_ref`, ""},
	{"step for step_id", "say", "think_next", args{"run_id": "$RUN", "step": "say", "result_snapshot": good}, "INVALID_PARAMS", `step_id`, ""},
	{"runId for run_id", "say", "think_next", args{"runId": "other", "step_id": "say", "result_snapshot": good}, "INVALID_PARAMS", `run_id`, ""},
	{"no run", "say", "think_next", args{"step_id": "say", "result_snapshot": good}, "", "", `"run_id":"$RUN"`},
	{"no run, but the workflow", "say", "think_next", args{"workflow": "slips", "step_id": "say", "result_snapshot": good}, "", "", `"step_id":"ok"`},
	{"an unknown run", "say", "think_next", args{"run_id": "nope", "step_id": "say", "result_snapshot": good}, "UNKNOWN_RUN", `think_state_list`, ""},
	{"no result", "say", "think_next", args{"run_id": "$RUN", "step_id": "say"}, "INVALID_PARAMS", `result_snapshot.*"instruction":`, ""},
	{"what a client adds", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": good, "task_progress": "- [x]", "wait_for_previous": true}, "", "", `"step_id":"ok"`},
	// Receipts.
	{"a receipt as the result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"_receipt": "$RECEIPT"}}, "", "", `"witness":"gateway"`},
	{"a receipt as text", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": "$RECEIPT"}, "", "", `"witness":"gateway"`},
	{"a receipt in a fence", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": "```json\n{\"_receipt\": \"$RECEIPT\"}\n```"}, "", "", `"witness":"gateway"`},
	{"a reply retyped with its receipt", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"_receipt": "$RECEIPT", "commits": "one commit"}}, "", "", `"witness":"gateway"`},
	{"an invented receipt as the result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"_receipt": "x"}}, "NOT_WITNESSED", `"instruction":`, ""},
	{"an invented receipt", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "abcdefgh"}, "NOT_WITNESSED", `"instruction":`, ""},
	{"a receipt as an object", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": args{"_receipt": "$RECEIPT"}}, "INVALID_PARAMS", `result_ref`, ""},
	{"a receipt in quotes", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": `"$RECEIPT"`}, "", "", `"witness":"gateway"`},
	{"a receipt for a model's step", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_ref": "$RECEIPT"}, "NOT_WITNESSED", `"instruction":\{"step_id":"say"`, ""},
	{"a receipt of another call", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "$OTHER"}, "NOT_WITNESSED", `"path":"input.limit","message":"differs","expected":"1","actual":"2"`, ""},
	{"a receipt and a result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "$RECEIPT", "result_snapshot": "one commit"}, "INVALID_PARAMS", `result_ref.*result_snapshot|result_snapshot.*result_ref`, ""},
	{"a result where only a receipt counts", "seen", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"commits": []any{}}}, "NOT_WITNESSED", `result_ref.*"instruction":`, ""},
	// Results that no tool gave.
	{"Done", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": "Done"}, "VALIDATION_FAILED", `git_log`, ""},
	{"prose for a tool's result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"text": "There is one commit."}}, "VALIDATION_FAILED", `git_log`, ""},
	{"a retyped result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"commits": []any{args{"subject": "Begin"}}}}, "VALIDATION_FAILED", `result_ref`, ""},
	{"an error without isError", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"error": "TOOL_FAILED", "details": "no git", "diagnostics": []any{}}}, "VALIDATION_FAILED", `isError`, ""},
	{"null", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": nil}, "VALIDATION_FAILED", ``, ""},
	// Answers of the model.
	{"fenced JSON", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": "```json\n{\"text\": \"Hello\", \"n\": 1}\n```"}, "", "", `"step_id":"ok"`},
	{"JSON as text", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": `{"text": "Hello", "n": 1}`}, "", "", `"step_id":"ok"`},
	{"an answer as a CallToolResult", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"content": []any{args{"type": "text", "text": `{"text": "Hello", "n": 1}`}}}}, "", "", `"step_id":"ok"`},
	{"prose around JSON", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": "Here it is: {\"text\": \"Hello\", \"n\": 1}. Bye!"}, "VALIDATION_FAILED", `"instruction":`, ""},
	{"prose and a fence around JSON", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": "Sure!\n```json\n{\"text\": \"Hello\", \"n\": 1}\n```"}, "VALIDATION_FAILED", `"instruction":`, ""},
	{"JSON with a comma too many", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": `{"text": "Hello", "n": 1,}`}, "VALIDATION_FAILED", `"instruction":`, ""},
	{"JSON with single quotes", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": `{'text': 'Hello', 'n': 1}`}, "VALIDATION_FAILED", `"instruction":`, ""},
	{"JSON in JSON", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": `"{\"text\": \"Hello\", \"n\": 1}"`}, "VALIDATION_FAILED", ``, ""},
	{"an answer within result", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"result": good}}, "VALIDATION_FAILED", `\\"result\\"`, ""},
	{"the arguments in the result", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"step_id": "say", "result_snapshot": good}}, "VALIDATION_FAILED", `\\"result_snapshot\\"`, ""},
	{"an array for an object", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": []any{good}}, "VALIDATION_FAILED", ``, ""},
	{"the input as the answer", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"task": "Greet nobody", "commits": 1}}, "VALIDATION_FAILED", ``, ""},
	{"a number as text", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"text": "Hello", "n": "one"}}, "VALIDATION_FAILED", `"pointer":"/n"`, ""},
	{"a missing member", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"text": "Hello"}}, "VALIDATION_FAILED", `n`, ""},
	// Failures of tools, in other forms than MCP's; the step is open again.
	{"a failure with its text", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"isError": true, "text": "no git here"}}, "TOOL_FAILED", `no git here.*"instruction":`, ""},
	{"a failure with an error", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"isError": true, "error": "no git here"}}, "TOOL_FAILED", `no git here`, ""},
	{"a failure whose content is text", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"isError": true, "content": "no git here"}}, "TOOL_FAILED", `no git here`, ""},
	{"isError beside the result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "isError": true, "result_snapshot": "no git here"}, "INVALID_PARAMS", `isError`, ""},
	// Steps and attempts.
	{"an attempt as text", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "attempt": "1", "result_snapshot": good}, "", "", `"step_id":"ok"`},
	{"an attempt as a word", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "attempt": "first", "result_snapshot": good}, "INVALID_PARAMS", `attempt.*"instruction":\{"step_id":"say"`, ""},
	{"a number as the step", "say", "think_next", args{"run_id": "$RUN", "step_id": 5, "result_snapshot": good}, "INVALID_PARAMS", `step_id.*"instruction":\{"step_id":"say"`, ""},
	{"a step in other letters", "say", "think_next", args{"run_id": "$RUN", "step_id": "Say", "result_snapshot": good}, "UNKNOWN_STEP", `say.*"instruction":\{"step_id":"say"`, ""},
	{"two steps at once", "say", "think_next", args{"run_id": "$RUN", "step_id": []any{"look", "say"}, "result_snapshot": good}, "INVALID_PARAMS", `step_id.*$RUN.*say.*"instruction":\{"step_id":"say"`, ""},
	{"no step", "say", "think_next", args{"run_id": "$RUN", "result_snapshot": good}, "INVALID_PARAMS", `step_id.*$RUN.*say.*llm.generate.*"instruction":\{"step_id":"say"`, ""},
	{"the plan again", "say", "think_plan", args{"workflow": "slips", "run_id": "$RUN"}, "", "", `"step_id":"say"`},
	{"an attempt that is not there", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "attempt": 5, "result_snapshot": good}, "INVALID_TRANSITION", `1.*5.*"step_id":"say"`, ""},
	{"a step that was answered", "say", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": "something else"}, "STATE_CONFLICT", `"instruction":\{"step_id":"say"`, ""},
	{"the same answer twice", "say", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "$RECEIPT"}, "", "", `"step_id":"say"`},
	{"a later step", "say", "think_next", args{"run_id": "$RUN", "step_id": "ok", "result_snapshot": good}, "INVALID_TRANSITION", `"instruction":\{"step_id":"say"`, ""},
	{"a step that is not there", "say", "think_next", args{"run_id": "$RUN", "step_id": "sai", "result_snapshot": good}, "UNKNOWN_STEP", `say.*"instruction":\{"step_id":"say"`, ""},
	// Persons, ends and resets.
	{"an answer for a person", "ok", "think_next", args{"run_id": "$RUN", "step_id": "ok", "result_snapshot": args{"approved": true}}, "APPROVAL_REQUIRED", `savant --path [^ ]+ approve $RUN ok`, ""},
	{"a receipt for a person's step", "ok", "think_next", args{"run_id": "$RUN", "step_id": "ok", "result_ref": "abcdefgh"}, "APPROVAL_REQUIRED", `savant --path [^ ]+ approve $RUN ok`, ""},
	{"a person's yes in words", "ok", "think_next", args{"run_id": "$RUN", "step_id": "ok", "result_snapshot": "The user said yes."}, "APPROVAL_REQUIRED", `savant --path [^ ]+ approve $RUN ok`, ""},
	{"what it thought before JSON", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": "<think>ok</think>{\"text\": \"Hello\", \"n\": 1}"}, "VALIDATION_FAILED", ``, ""},
	{"a value of Python", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": `{"text": "Hello", "n": None}`}, "VALIDATION_FAILED", ``, ""},
	{"an empty text", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": ""}, "VALIDATION_FAILED", `"instruction":`, ""},
	{"two answers", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": []any{good, good}}, "VALIDATION_FAILED", ``, ""},
	{"the form of a schema", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"type": "object", "properties": good}}, "VALIDATION_FAILED", `\\"properties\\"`, ""},
	{"members in other letters", "say", "think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": args{"Text": "Hello", "N": 1}}, "VALIDATION_FAILED", ``, ""},
	{"the call for the step", "look", "think_next", args{"run_id": "$RUN", "step_id": "git.log", "result_ref": "$RECEIPT"}, "UNKNOWN_STEP", `"instruction":\{"step_id":"look"`, ""},
	{"the workflow before the step", "look", "think_next", args{"run_id": "$RUN", "step_id": "slips.look", "result_ref": "$RECEIPT"}, "UNKNOWN_STEP", `"instruction":\{"step_id":"look"`, ""},
	{"the label before a receipt", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "_receipt: $RECEIPT"}, "", "", `"witness":"gateway"`},
	{"the tool's arguments as its result", "look", "think_next", args{"run_id": "$RUN", "step_id": "look", "result_snapshot": args{"limit": 1}}, "VALIDATION_FAILED", `git_log`, ""},
	{"a person's answer beside", "ok", "think_next", args{"run_id": "$RUN", "step_id": "ok", "approved": true}, "", "", `"status":"waiting".*|"note":"A person must answer`},
	{"an early stop", "say", "think_explain", args{}, "", "", `say.*llm.generate.*"instruction":\{"step_id":"say"`},
	{"a reset by step_id", "say", "think_reset", args{"run_id": "$RUN", "step_id": "look", "force": true}, "INVALID_PARAMS", `checkpoint`, ""},
	{"a reset of nothing", "say", "think_reset", args{"force": true}, "INVALID_PARAMS", `checkpoint`, ""},
}

// slipping is a model that makes slips: against a server, one run for each.
type slipping struct {
	t        *testing.T
	server   *server
	folder   string
	count    int
	run      string
	receipts map[string]string
	messages map[string]string // of the errors, by the slip's name
}

func (m *slipping) call(tool string, given any) string {
	m.count++
	data, err := json.Marshal(given)
	require.NoError(m.t, err)
	text := string(data)
	for name, receipt := range m.receipts {
		text = strings.ReplaceAll(text, name, receipt)
	}
	m.server.send(m.t, m.count, tool, json.RawMessage(strings.ReplaceAll(text, "$RUN", m.run)))
	require.True(m.t, m.server.lines.Scan(), "the server ended")
	var got toolReply
	require.NoError(m.t, json.Unmarshal(m.server.lines.Bytes(), &got))
	require.Equal(m.t, m.count, got.ID)
	return string(got.Result.StructuredContent)
}

// bring plans a run and brings it to a step, the way that is right.
func (m *slipping) bring(at string) {
	workflow := "slips"
	if at == "seen" {
		workflow = "seen"
	}
	planned := m.call("think_plan", args{"workflow": workflow, "run_id": "$RUN"})
	require.Contains(m.t, planned, `"step_id":"look"`)
	m.receipts = map[string]string{}
	for name, limit := range map[string]int{"$RECEIPT": 1, "$OTHER": 2} {
		found := carried.FindStringSubmatch(m.call("git_log", args{"limit": limit}))
		require.NotNil(m.t, found)
		m.receipts[name] = found[1]
	}
	if at == "say" || at == "ok" {
		require.Contains(m.t, m.call("think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": "$RECEIPT"}), `"step_id":"say"`)
	}
	if at == "ok" {
		require.Contains(m.t, m.call("think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": good}), `"step_id":"ok"`)
	}
}

// finish follows the instructions until a person must answer or the run has ended,
// compares the data with that of a run without a slip, and moves the run to the trash,
// so that only one run is open.
func (m *slipping) finish() {
	for at := ""; at != "ok"; {
		stands := m.call("think_explain", args{"run_id": "$RUN"})
		next := regexp.MustCompile(`"instruction":\{"step_id":"(\w+)"`).FindStringSubmatch(stands)
		if next == nil {
			break
		}
		switch at = next[1]; at {
		case "look":
			found := carried.FindStringSubmatch(m.call("git_log", args{"limit": 1}))
			require.NotContains(m.t, m.call("think_next", args{"run_id": "$RUN", "step_id": "look", "result_ref": found[1]}), `"error"`)
		case "say":
			require.NotContains(m.t, m.call("think_next", args{"run_id": "$RUN", "step_id": "say", "result_snapshot": good}), `"error"`)
		case "ok":
			// The note is a command that a person can run, wherever they are. Here is
			// no person at a terminal.
			note := regexp.MustCompile(`or to run: (.*?) — then`).FindStringSubmatch(stands)
			require.NotNil(m.t, note, stands)
			command := exec.Command("sh", "-c", note[1])
			command.Dir = m.t.TempDir()
			out, err := command.CombinedOutput()
			require.Error(m.t, err)
			require.Contains(m.t, string(out), string(fault.ApprovalRequired), note[1])
		}
	}
	got := m.call("think_state_get", args{"run_id": "$RUN"})
	require.Contains(m.t, got, `"subject":"Begin"`)
	if strings.Contains(got, `"workflow":"slips"`) {
		require.Contains(m.t, got, `"said":{"n":1,"text":"Hello"}`)
	}
	require.Contains(m.t, m.call("think_reset", args{"run_id": "$RUN", "force": true}), `"ok":true`)
}

// TestEverySlipIsReportedOrLosesNothing has a model make typical slips, each in a run
// of its own. An error says what is wrong and what to do, or nothing is lost; and the
// run ends as without the slip.
func TestEverySlipIsReportedOrLosesNothing(t *testing.T) {
	skipInShort(t)
	t.Parallel()
	for _, need := range []string{"git", "sh"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(need + " is not installed")
		}
	}
	require.GreaterOrEqual(t, len(slips), 40)
	folder := t.TempDir()
	for name, text := range map[string]string{"slips": slipsWorkflow, "seen": seenWorkflow} {
		file := filepath.Join(folder, "workflows", name+".yaml")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, command := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "Begin"}} {
		out, err := exec.Command("git", append([]string{"-C", folder}, command...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	m := &slipping{server: serveIn(t, folder, "MCP_SERVICE=think,git"), folder: folder, messages: map[string]string{}}
	for i, each := range slips {
		t.Run(each.name, func(t *testing.T) {
			m.t, m.run, m.receipts = t, "run"+string(rune('a'+i/26))+string(rune('a'+i%26)), nil
			if each.at == "start" {
				reply := m.call(each.tool, each.args)
				m.judge(each, reply)
				if each.code != "" {
					return
				}
				m.run = each.args.(args)["run_id"].(string)
			} else {
				m.bring(each.at)
				m.judge(each, m.call(each.tool, each.args))
			}
			m.finish()
		})
	}
	golden.Messages(t, *update, filepath.Join("testdata", "slips.golden"), m.messages)
}

func (m *slipping) judge(made slip, reply string) {
	var refused fault.Error
	require.NoError(m.t, json.Unmarshal([]byte(reply), &refused))
	require.Equal(m.t, made.code, refused.Code, reply)
	if made.code == "" {
		require.Regexp(m.t, strings.ReplaceAll(made.takes, "$RUN", m.run), reply)
		return
	}
	require.Regexp(m.t, strings.ReplaceAll(made.named, "$RUN", m.run), reply)
	replaced := []string{m.run, "$RUN", m.folder, "$FOLDER"}
	for name, receipt := range m.receipts {
		replaced = append(replaced, receipt, name)
	}
	text := strings.NewReplacer(replaced...).Replace(refused.Details)
	m.messages[made.name] = regexp.MustCompile(`\S+ --path`).ReplaceAllString(text, "savant --path")
}
