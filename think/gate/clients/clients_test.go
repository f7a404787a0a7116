package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/golden"
	"savant/think/gate"
	"savant/think/gate/clients"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is one event: recorded with the real client, or from its documentation.
type sample struct {
	From  string          `json:"from"`
	Stdin json.RawMessage `json:"stdin"`
	// Answered is what a hook answered that was seen to work with the real client.
	Answered map[string]any `json:"answered"`
}

func samples(t testing.TB, client string) []sample {
	text, err := os.ReadFile(filepath.Join("testdata", "events", client+".ndjson"))
	require.NoError(t, err)
	var all []sample
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each sample
		require.NoError(t, json.Unmarshal(lines.Bytes(), &each))
		all = append(all, each)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, all)
	return all
}

// TestEventsOfEachClient holds how each event reads, and how it is answered.
func TestEventsOfEachClient(t *testing.T) {
	for _, name := range clients.Names() {
		t.Run(name, func(t *testing.T) {
			client, err := clients.Find(name)
			require.NoError(t, err)
			var lines strings.Builder
			for _, each := range samples(t, name) {
				report, err := client.Read(each.Stdin, "")
				require.NoError(t, err)
				require.Equal(t, name, report.Client)
				line := map[string]any{"from": each.From, "named": report.Named, "kind": report.Kind, "session": report.Session, "agent": report.Agent,
					"tool": report.Tool, "folder": report.Folder, "project": report.Project, "input": report.Input, "output": len(report.Output) > 0,
					"places": gate.Places(report.Event)}
				for _, verdict := range []gate.Verdict{gate.Pass, gate.Refuse, gate.Hold} {
					if verdict == gate.Refuse && report.Kind != gate.BeforeTool || verdict == gate.Hold && report.Kind != gate.TurnEnd && report.Kind != gate.TurnMayEnd {
						continue
					}
					answer := client.Answer(report.Named, gate.Decision{Verdict: verdict, Reason: "REASON"})
					line["answer "+string(verdict)] = []any{answer.Stdout, answer.Stderr, answer.Exit}
				}
				text, err := jsonvalue.Encode(line)
				require.NoError(t, err)
				lines.Write(append(text, '\n'))
			}
			golden.Compare(t, *update, filepath.Join("testdata", "golden", name+".ndjson"), lines.String())
		})
	}
}

// TestAnswersAreThoseThatWorked compares the answers with those that the real client was
// seen to obey.
func TestAnswersAreThoseThatWorked(t *testing.T) {
	compared := map[string]int{}
	for _, name := range clients.Names() {
		client, err := clients.Find(name)
		require.NoError(t, err)
		for _, each := range samples(t, name) {
			reason := reasonIn(each.Answered)
			if reason == "" {
				continue
			}
			report, err := client.Read(each.Stdin, "")
			require.NoError(t, err)
			verdict := gate.Refuse
			if report.Kind == gate.TurnEnd {
				verdict = gate.Hold
			}
			worked, err := json.Marshal(each.Answered)
			require.NoError(t, err)
			require.JSONEq(t, string(worked), client.Answer(report.Named, gate.Decision{Verdict: verdict, Reason: reason}).Stdout)
			compared[name]++
		}
	}
	for _, name := range []string{"claude-code", "codex", "gemini-cli", "qwen-code"} {
		require.Greater(t, compared[name], 4, name)
	}
}

func reasonIn(answer map[string]any) string {
	if inner, ok := answer["hookSpecificOutput"].(map[string]any); ok {
		reason, _ := inner["permissionDecisionReason"].(string)
		return reason
	}
	reason, _ := answer["reason"].(string)
	return reason
}

func TestClientsThatAreNotKnown(t *testing.T) {
	_, err := clients.Find("claude")
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, "claude-code")
	for _, name := range []string{"codex", "ask", "../plugins/cline"} {
		_, err = clients.Plugin(name, []string{"savant"})
		require.ErrorIs(t, err, fault.InvalidParams, name)
	}
}

func TestThePluginStartsTheProgram(t *testing.T) {
	for _, name := range []string{"opencode", "cline"} {
		text, err := clients.Plugin(name, []string{`C:\Program Files\savant.exe`, "--path", "/a b", "hook", name})
		require.NoError(t, err)
		require.Contains(t, text, `const COMMAND = ["C:\\Program Files\\savant.exe","--path","/a b","hook","`+name+`"]`)
		require.Equal(t, 3, strings.Count(text, "import "))
		require.Equal(t, 3, strings.Count(text, ` from "node:`), "the file stands alone")
		require.Equal(t, 1, strings.Count(text, "export "), "the client takes each export for a plugin")
		require.Equal(t, 1, strings.Count(text, "function ask("))
	}
}

// TestASubagentEndsAlone: its end is not that of the session's turn.
func TestASubagentEndsAlone(t *testing.T) {
	client, err := clients.Find("claude-code")
	require.NoError(t, err)
	for event, want := range map[string]gate.Kind{`"hook_event_name":"Stop"`: gate.TurnEnd, `"hook_event_name":"SubagentStop"`: gate.Other,
		`"hook_event_name":"Stop","agent_id":"a1"`: gate.Other, `"hook_event_name":"PreToolUse","agent_id":"a1"`: gate.BeforeTool} {
		report, err := client.Read([]byte(`{"session_id":"s",`+event+`}`), "")
		require.NoError(t, err)
		require.Equal(t, want, report.Kind, event)
	}
}

func TestWhatIsNoEvent(t *testing.T) {
	client, err := clients.Find("codex")
	require.NoError(t, err)
	for _, text := range []string{"", "null", "[]", `"x"`, "{", `{"a":1,}`} {
		report, err := client.Read([]byte(text), "PreToolUse")
		require.ErrorIs(t, err, fault.InvalidParams, text)
		require.Equal(t, gate.BeforeTool, report.Kind)
	}
}

// TestEventsOfNoKnownName: an event that is about a call counts as the one before it.
func TestEventsOfNoKnownName(t *testing.T) {
	client, err := clients.Find("claude-code")
	require.NoError(t, err)
	for event, want := range map[string]gate.Kind{
		`"tool_name":"Bash"`:                                         gate.BeforeTool,
		`"tool_input":{"a":1}`:                                       gate.BeforeTool,
		`"command":"touch x"`:                                        gate.BeforeTool,
		`"tool_response":{}`:                                         gate.Other,
		`"hook_event_name":"New"`:                                    gate.Other,
		`"hook_event_name":"pretooluse","tool_name":"Bash"`:          gate.BeforeTool,
		`"hook_event_name":"New","tool_name":"Bash"`:                 gate.BeforeTool,
		`"hook_event_name":"New","tool_name":"A","tool_response":{}`: gate.Other,
		`"hook_event_name":"PostToolBatch","tool_name":"A"`:          gate.Other,
		`"hook_event_name":"UserPromptSubmit","prompt":"x"`:          gate.Other,
	} {
		report, err := client.Read([]byte(`{"session_id":"s",`+event+`}`), "")
		require.NoError(t, err)
		require.Equal(t, want, report.Kind, event)
		if want == gate.BeforeTool {
			require.Equal(t, "PreToolUse", report.Named, event)
		}
	}
}
