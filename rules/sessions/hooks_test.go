package sessions_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/rules"
	"savant/rules/sessions"
	"savant/think/gate"
	"savant/think/gate/clients"
)

// events reads what a client's hooks were seen to report in one session.
func events(t *testing.T, name string) (all []gate.Event) {
	source, err := os.ReadFile(filepath.Join("..", "..", "think", "gate", "clients", "testdata", "events", name+".ndjson"))
	require.NoError(t, err)
	client, err := clients.Find(name)
	require.NoError(t, err)
	for line := range bytes.Lines(source) {
		var each struct{ Stdin json.RawMessage }
		require.NoError(t, json.Unmarshal(line, &each))
		report, err := client.Read(each.Stdin, "")
		require.NoError(t, err)
		if len(all) == 0 || report.Session == all[0].Session {
			all = append(all, report.Event)
		}
	}
	return all
}

// openHooks opens the keeper that a client's hook asks.
func (w *world) openHooks() *sessions.Keeper {
	root, err := os.OpenRoot(w.folder)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = root.Close() })
	return sessions.Open(sessions.Options{Files: root.FS(), Root: root, Logger: slog.New(slog.DiscardHandler), Now: w.clock, Process: sessions.OfHooks})
}

// TestTheSameVerdictsByTheHooksOfEachClient gives the recorded events of clients, which
// write names and results differently, to the same rules.
func TestTheSameVerdictsByTheHooksOfEachClient(t *testing.T) {
	for _, name := range []string{"claude-code", "cline", "codex", "gemini-cli", "opencode", "qwen-code"} {
		for _, before := range []string{"savant.demo_bad", "savant.*"} {
			w := newWorld(t, `evidence: {good: {last: savant.demo_good, if: "result startsWith 'SERVER-RAN demo_good'"}}`, "rules:",
				`  - {id: good, before: "`+before+`", except: savant.demo_good, require: {needs: good}}`,
				`  - {id: shell, before: [Bash, bash, run_shell_command, run_commands], when: "toJSON(input) matches 'forbidden'", deny: true}`)
			var refused []string
			var bad gate.Event
			for _, each := range events(t, name) {
				if decided := w.openHooks().Ask(t.Context(), each); decided.Verdict == gate.Refuse {
					refused = append(refused, decided.Reason)
				}
				if strings.HasSuffix(each.Tool, "demo_bad") {
					bad = each
				}
			}
			require.Len(t, refused, 2, name)
			require.Contains(t, refused[0], "Rule good (rules/r.yaml:3) is not met.", name)
			require.Contains(t, refused[1], "Rule shell (rules/r.yaml:4) is not met.", name)
			require.Equal(t, gate.Decision{}, w.openHooks().Ask(t.Context(), bad), "%s: its hook reported the call that is needed", name)
		}
	}
}

func TestTheNamesOfAClientsTools(t *testing.T) {
	w := newWorld(t, `rules: [{id: one, before: "git-hub.create_issue", deny: true}, {id: all, before: "web.*", deny: true}]`)
	for tool, refused := range map[string]bool{
		"mcp__git-hub__create_issue": true, "mcp_git-hub_create_issue": true, "git_hub_create_issue": true, "git-hub__create-issue": true,
		"MCP:create_issue": true, "@git-hub/create_issue": true, "mcp__plugin_market_git-hub__create_issue": true,
		"mcp__web__fetch": true, "web_fetch_all": true, "mcp_web_fetch": true,
		"mcp__git-hub__create_issues": false, "MCP:issue": false, "create_issue": false, "website": false, "Bash": false, "": false,
	} {
		decided := w.openHooks().Ask(t.Context(), gate.Event{Client: "claude-code", Session: "s", Kind: gate.BeforeTool, Tool: tool, Input: json.RawMessage(`{}`)})
		require.Equal(t, refused, decided.Verdict == gate.Refuse, tool)
	}
}

func TestWhatAClientReports(t *testing.T) {
	for output, result := range map[string]any{
		`"{\"_receipt\":\"abcdefgh\",\"clean\":true}"`:                                                         map[string]any{"clean": true},
		`[{"type":"text","text":"17"}]`:                                                                        17,
		`{"content":[{"type":"text","text":"done"}]}`:                                                          "done",
		`{"output":{"content":[{"type":"text","text":"[1]"}]}}`:                                                []any{1},
		`{"llmContent":[{"text":"<untrusted_context>\n{\"a\":1}\n</untrusted_context>"}],"returnDisplay":"x"}`: map[string]any{"a": 1},
		`{"stdout":"ok","stderr":""}`:                                                                          map[string]any{"stdout": "ok", "stderr": ""},
		`{"content":[],"structuredContent":{"a":true}}`:                                                        map[string]any{"a": true},
		`{"output":"text","title":"t"}`:                                                                        map[string]any{"output": "text", "title": "t"},
		`not json`:                                                                                             nil,
	} {
		reported, outcome := sessions.Reported(gate.Event{Output: json.RawMessage(output)})
		require.Equal(t, rules.Succeeded, outcome)
		require.EqualValues(t, result, reported, output)
	}
	client, err := clients.Find("claude-code")
	require.NoError(t, err)
	for event, outcome := range map[string]rules.Outcome{
		`{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Read","tool_input":{},"error":"no such file"}`:                                      rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"stopped","is_interrupt":true}`:                       rules.Unknown,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"is_error":true}}`:                                  rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"","interrupted":true}}`:                   rules.Unknown,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"","backgroundTaskId":"b1"}}`:              rules.Unknown,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"run_in_terminal","tool_input":{"isBackground":true},"tool_response":"started"}`:            rules.Unknown,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"view","tool_input":{},"tool_response":{"resultType":"failure","textResultForLlm":"none"}}`: rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"execute_bash","tool_input":{},"tool_response":{"success":false,"result":[]}}`:              rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"read_file","tool_input":{},"tool_response":{"llmContent":"x","error":{"message":"none"}}}`: rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"run_commands","tool_input":{},"tool_response":{"output":[{"success":false}]}}`:             rules.Failed,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"run_commands","tool_input":{},"tool_response":{"output":[{"success":true}],"error":null}}`: rules.Succeeded,
	} {
		read, err := client.Read([]byte(event), "")
		require.NoError(t, err)
		_, reported := sessions.Reported(read.Event)
		require.Equal(t, outcome, reported, event)
	}
}

// TestAHookReadsNoSessionsThatEndedBefore: those which no rule looks at any more would cost each
// call of a client the time of all calls of the project.
func TestAHookReadsNoSessionsThatEndedBefore(t *testing.T) {
	w := newWorld(t, "rules:", "  - {id: few, before: Bash, at_most: 1, within: 2h}")
	call := func(session string) gate.Decision {
		return w.openHooks().Ask(t.Context(), gate.Event{Client: "codex", Session: session, Kind: gate.BeforeTool, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
	}
	require.Empty(t, call("first"))
	old, err := os.OpenFile(w.journal(), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = old.WriteString("\"no record\"\n") // who reads it, refuses
	require.NoError(t, err)
	require.NoError(t, old.Close())
	require.NoError(t, os.Chtimes(w.journal(), w.now, w.now))
	w.now = w.now.Add(2*time.Hour - time.Minute)
	require.Regexp(t, "^STATE_CORRUPT: .* is not a record of a call", call("second").Reason)
	w.now = w.now.Add(time.Minute)
	require.Empty(t, call("second"))
	require.Contains(t, call("third").Reason, "Rule few")
	require.Contains(t, call("first").Reason, "is not a record of a call") // its own is read
}

// TestAHookReadsNoCallsThatChangeNothing: all calls of a project would take a hook longer than its
// client waits.
func TestAHookReadsNoCallsThatChangeNothing(t *testing.T) {
	w := newWorld(t, "evidence: {read: {last: Read, where: {file: input.file}, since: [Write]}}", "rules:",
		"  - {id: once, before: Bash, once: input.command, scope: project}",
		"  - {id: edit, before: Edit, require: [{needs: read}, \"none(calls['Edit'], .input.file == input.file)\"]}")
	call := func(kind gate.Kind, session, tool, input string) gate.Decision {
		return w.openHooks().Ask(t.Context(), gate.Event{Client: "codex", Session: session, Kind: kind, Tool: tool, Input: json.RawMessage(input)})
	}
	old := func(kind string, tool string, member string) {
		file, err := os.OpenFile(w.journal(), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString(`{"kind":"` + kind + `","call":"x` + tool + `","session":"hook codex a","tool":"` + tool + `","input":{` + member + "}} no record}\n")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	require.Empty(t, call(gate.BeforeTool, "a", "Bash", `{"command":"one"}`))
	old("call", "Bash", `"command":"two"`)
	old("end", "Bash", "")
	old("call", "Read", `"file":"b.go"`)
	for _, session := range []string{"a", "b"} { // its own calls, too
		require.Contains(t, call(gate.BeforeTool, session, "Bash", `{"command":"one"}`).Reason, "the last was Bash #1")
		require.Contains(t, call(gate.BeforeTool, session, "Bash", `{"command":"two"}`).Reason, "is not a record of a call")
		require.Contains(t, call(gate.BeforeTool, session, "Bash", `{}`).Reason, "is not a record of a call")
		require.Contains(t, call(gate.BeforeTool, session, "Edit", `{"file":"a.go"}`).Reason, "call Read")
	}
	require.Contains(t, call(gate.BeforeTool, "a", "Edit", `{"file":"b.go"}`).Reason, "is not a record of a call")
	require.Empty(t, call(gate.BeforeTool, "a", "Bash", `{"command":"three"}`))
	require.Empty(t, call(gate.AfterTool, "a", "Bash", `{"command":"three"}`))
	require.Contains(t, call(gate.BeforeTool, "b", "Bash", `{"command":"three"}`).Reason, "the last was Bash #4")
}
