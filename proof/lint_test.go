package proof_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/proof"
)

// session writes a log: "say: text", "do: tool command", "ok", "fail".
func session(lines ...string) []byte {
	var log strings.Builder
	write := func(role string, block map[string]any) {
		text, _ := json.Marshal(map[string]any{"type": role, "message": map[string]any{"role": role, "content": []any{block}}})
		log.Write(append(text, '\n'))
	}
	id := 0
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, ": ")
		switch kind {
		case "say":
			write("assistant", map[string]any{"type": "text", "text": rest})
		case "do":
			id++
			tool, command, _ := strings.Cut(rest, " ")
			write("assistant", map[string]any{"type": "tool_use", "id": fmt.Sprint(id), "name": tool, "input": map[string]any{"command": command}})
		case "ok", "fail":
			write("user", map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint(id), "is_error": kind == "fail"})
		case "gives":
			write("user", map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint(id), "content": []any{map[string]any{"type": "text", "text": rest}}})
		case "person":
			write("user", map[string]any{"type": "text", "text": rest})
		}
	}
	return []byte("{\"type\":\"summary\"}\nno json\n" + log.String())
}

// TestWhatIsAssertedIsLookedFor judges sessions, and nothing that asserts nothing.
func TestWhatIsAssertedIsLookedFor(t *testing.T) {
	for name, each := range map[string]struct {
		log  []byte
		want []proof.Verdict
	}{
		"seen":                      {session("do: Bash go test ./...", "ok", "say: Done. All tests pass."), []proof.Verdict{proof.Witnessed}},
		"seen by a tool":            {session("do: mcp__savant__ci_run_tests", "ok", "say: The tests are passing now"), []proof.Verdict{proof.Witnessed}},
		"a command that failed":     {session("do: mcp__savant__ci_run_tests", `gives: {"status": "failed", "exit_code": 1}`, "say: All tests pass."), []proof.Verdict{proof.Unwitnessed}},
		"a command of another name": {session("do: mcp__savant__ci_run build", `gives: {"status": "passed"}`, "say: All tests pass."), []proof.Verdict{proof.Unwitnessed}},
		"a command by its name":     {session("do: ci.run unit-tests", `gives: {"status": "passed", "exit_code": 0}`, "do: fs_edit_file", "ok", "say: All tests pass."), []proof.Verdict{proof.Outdated}},
		"no result yet":             {session("do: Bash go test ./...", "say: All tests pass."), []proof.Verdict{proof.Unwitnessed}},
		"never run":                 {session("do: Bash ls", "ok", "say: All tests pass!"), []proof.Verdict{proof.Unwitnessed}},
		"failed":                    {session("do: Bash pytest -q", "fail", "say: The tests pass."), []proof.Verdict{proof.Unwitnessed}},
		"edited since":              {session("do: Bash npm test", "ok", "do: Edit x", "ok", "say: All tests pass."), []proof.Verdict{proof.Outdated}},
		"run again":                 {session("do: Bash npm test", "ok", "do: Edit x", "ok", "do: Bash npm test", "ok", "say: All tests pass."), []proof.Verdict{proof.Witnessed}},
		"a task afterwards":         {session("do: Bash npm test", "ok", "do: Bash make", "ok", "say: All tests pass."), []proof.Verdict{proof.Witnessed}},
		"an edit failed":            {session("do: Bash npm test", "ok", "do: Edit x", "fail", "say: All tests pass."), []proof.Verdict{proof.Witnessed}},
		"pushed":                    {session("do: Bash cd x && git push origin main", "ok", "do: Write y", "ok", "say: I've pushed the branch"), []proof.Verdict{proof.Witnessed}},
		"not pushed":                {session("say: Changes have been pushed; I committed them"), []proof.Verdict{proof.Unwitnessed, proof.Unwitnessed}},
		"said by a person":          {session("person: All tests pass."), nil},
		"nothing asserted":          {session("say: Let me see if the tests pass. The tests should pass.\nOnce the tests pass I will push. Do the tests pass? The tests don't pass."), nil},
		"quoted":                    {session("say: The report has `tests pass` in it. > all tests pass"), nil},
		"quoted sentences":          {session("say: Nothing fits \"all is done. I pushed it. All tests pass.\" and so on\n```\nAll tests pass\n```\n“Done. I committed it.”"), nil},
		"a summary of the session":  {session("say: <analysis>\n1. I was asked for it.\n- All 397 tests passed\n</analysis>\n\n<summary>\nAll tests pass. I pushed it"), nil},
		"said of the plan":          {session("say: I need to ensure tests pass before I commit"), nil},
		"of something else":         {session("say: He passed the test of time, and the tests cover it"), nil},
	} {
		events, known := proof.ReadLog(each.log)
		require.Positive(t, known)
		found := proof.Lint(events)
		var got []proof.Verdict
		for _, assertion := range found {
			got = append(got, assertion.Verdict)
			require.NotEmpty(t, assertion.Why)
		}
		require.Equal(t, each.want, got, name)
	}
	for verdict, commands := range map[proof.Verdict][]string{
		proof.Witnessed: {"python -m unittest", "bun test", "deno test -A", "node --test", "./gradlew check", "make -C x test", "python manage.py test", "npm t", "npm run test:unit", "mix test",
			"swift test", "bazel test //...", "zig build test", "bin/rails test", "./run-tests.sh", "just test", "cd x && CI=1 go test ./... | tail -5", "uv run pytest -q", "npx playwright test", "nox", "sbt test", "./mvnw -q verify"},
		proof.Unwitnessed: {"cat a_test.go", "ls test", "git checkout x", "echo 'go test ./...' > notes", "rg test | head", "mkdir test; touch test/x", "go build ./...", "vim spec/a.rb", "latest"},
	} {
		for _, command := range commands {
			events, _ := proof.ReadLog(session("do: Bash "+command, "ok", "say: All tests pass."))
			require.Equal(t, verdict, proof.Lint(events)[0].Verdict, command)
		}
	}
	for _, command := range []string{"make", "gh pr checks --watch", "./run.sh --push", "bash scripts/ci.sh", "docker compose run app", "npm run ci", "cd x && just"} {
		events, _ := proof.ReadLog(session("do: Bash "+command, "ok", "say: All tests pass. I've pushed the branch"))
		require.Empty(t, proof.Lint(events), "what %s does is not shown", command)
		events, _ = proof.ReadLog(session("do: Bash "+command, "fail", "do: Bash go build -o bin/x ./cmd/x", "ok", "say: All tests pass."))
		require.Len(t, proof.Lint(events), 1, command)
	}
	for _, said := range []string{"All tests passed in CI, according to the badge", "The tests pass on GitHub", "All tests are green in the pipeline", "The tests pass on Windows", "None of the tests pass",
		"12 tests pass and 2 fail", "Some tests pass", "The tests pass a nil context to it", "The specs pass the request on", "All tests passed yesterday", "I pushed back on that", "I've pushed the check down into the parser", "We committed to this plan"} {
		for _, end := range []string{"ok", "fail"} {
			events, _ := proof.ReadLog(session("do: Bash go test ./...", end, "say: "+said))
			require.Empty(t, proof.Lint(events), said)
		}
	}
	for _, said := range []string{"All tests pass, with 3 new ones", "The tests pass in 3 seconds", "The tests now pass (12 of them)", "All tests pass locally", "The test suite passed: it took a minute"} {
		events, _ := proof.ReadLog(session("do: Bash go test ./...", "ok", "say: "+said))
		require.Len(t, proof.Lint(events), 1, said)
	}
	for said, commands := range map[string][]string{
		"I've pushed the branch": {"git push --dry-run", "git stash push", "git config push.default current", "git branch push"},
		"I committed the change": {"git commit --dry-run", "git config commit.gpgsign true"},
		"All tests pass":         {"pytest --collect-only", "cargo test --no-run", "npm test -- --listTests", "go test -list ."},
	} {
		for _, command := range commands {
			events, _ := proof.ReadLog(session("do: Bash "+command, "ok", "say: "+said))
			require.Equal(t, proof.Unwitnessed, proof.Lint(events)[0].Verdict, command)
		}
	}
	for _, command := range []string{"git -C x push", "git -c a.b=c push origin HEAD", "git --no-pager push -u origin x", `git -C "C:/My Project" push`, `["git","-C","a b","push"]`, "git.exe push", "git push>log"} {
		events, _ := proof.ReadLog(session("do: Bash "+command, "ok", "say: I've pushed the branch"))
		require.Equal(t, proof.Witnessed, proof.Lint(events)[0].Verdict, command)
	}
	for _, command := range []string{`git commit -m "add --version"`, `git commit -am 'support --dry-run'`, `["git","commit","-m","say --help"]`} {
		events, _ := proof.ReadLog(session("do: Bash "+command, "ok", "say: I committed the change"))
		require.Equal(t, proof.Witnessed, proof.Lint(events)[0].Verdict, command)
	}
	for _, said := range []string{"All tests pass with 0 failures", "12 tests pass, 0 failed", "The tests pass (zero tests failed)"} {
		events, _ := proof.ReadLog(session("do: Bash ls", "ok", "say: "+said))
		require.Len(t, proof.Lint(events), 1, said)
	}
	events, _ := proof.ReadLog(session("do: Bash git commit -m 'x' --dry-run", "ok", "say: I committed the change"))
	require.Equal(t, proof.Unwitnessed, proof.Lint(events)[0].Verdict)
	events, _ = proof.ReadLog(session("do: Bash go test ./... || true", "ok", "say: All tests pass."))
	require.Empty(t, proof.Lint(events), "its end says nothing")
	events, _ = proof.ReadLog(session("do: Bash echo 'git push' >notes", "ok", "say: I've pushed the branch"))
	require.Equal(t, proof.Unwitnessed, proof.Lint(events)[0].Verdict)
}

// logs are sessions of clients as each writes them: a call of a command CMD that ends with
// CODE, then an edit unless it is cut out, and what the model says of it.
var logs = map[string]string{
	"codex": `{"timestamp":"t","type":"session_meta","payload":{"id":"s","cwd":"/x","instructions":"All tests pass."}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"All tests pass."}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":"All tests pass."}}
{"timestamp":"t","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"All tests pass."}],"content":null,"encrypted_content":"x"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"CMD\"],\"workdir\":\"/x\"}","call_id":"c1"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"exit code 1\\n\",\"metadata\":{\"exit_code\":CODE,\"duration_seconds\":0.1}}"}}
EDIT{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call","status":"completed","call_id":"c2","name":"apply_patch","input":"*** Begin Patch\n*** Update File: a_test.go\n*** End Patch"}}
EDIT{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":"{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"All tests pass."}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"agent_message","message":"All tests pass."}}`,
	"codex, a newer one": `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"CMD\"}","call_id":"c1"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code CODE\nOriginal token count: 3\nOutput:\nok\n"}}
EDIT{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin Patch"}}
EDIT{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"All tests pass."}]}}`,
	"codex, a local shell": `{"type":"response_item","payload":{"type":"local_shell_call","call_id":"c1","status":"completed","action":{"type":"exec","command":["bash","-lc","CMD"]}}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":{"content":"Exit code: CODE\nWall time: 0.1 seconds\nOutput:\nok","success":true}}}
EDIT{"type":"response_item","payload":{"type":"function_call","name":"apply_patch","arguments":"{\"input\":\"x\"}","call_id":"c2"}}
EDIT{"type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Success."}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"All tests pass."}]}}`,
	"gemini": `{
  "sessionId": "s",
  "messages": [
    {"id": "1", "type": "user", "content": [{"text": "All tests pass."}]},
    {"id": "2", "type": "gemini", "content": "", "thoughts": [{"subject": "x", "description": "All tests pass."}], "toolCalls": [
      {"id": "run_shell_command-1", "name": "run_shell_command", "args": {"command": "CMD"}, "status": "success", "displayName": "Shell", "resultDisplay": "ok",
       "result": [{"functionResponse": {"id": "run_shell_command-1", "name": "run_shell_command", "response": {"output": "Command: CMD\nDirectory: (root)\nOutput: ok\nError: (none)\nExit Code: CODE\nSignal: (none)\nProcess Group PGID: 12"}}}]}
EDIT,{"id": "replace-1", "name": "replace", "args": {"file_path": "/x/a"}, "status": "success", "result": [{"functionResponse": {"id": "replace-1", "name": "replace", "response": {"output": "Successfully modified"}}}]}
    ]},
    {"id": "3", "type": "gemini", "content": "All tests pass.", "toolCalls": []}
  ]
}`,
	"copilot": `{"type":"session.start","data":{"sessionId":"s"},"id":"e0"}
{"type":"user.message","data":{"content":"All tests pass."},"id":"e1"}
{"type":"assistant.message","data":{"messageId":"m1","content":"","toolRequests":[{"toolCallId":"c1","name":"bash","arguments":{"command":"CMD","description":"x"}}]},"id":"e2"}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"CMD"}},"id":"e3"}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"ok\n<exited with exit code CODE>","detailedContent":"ok"}},"id":"e4"}
EDIT{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"edit","arguments":{"path":"a"}},"id":"e5"}
EDIT{"type":"tool.execution_complete","data":{"toolCallId":"c2","success":true,"result":{"content":"done"}},"id":"e6"}
{"type":"assistant.message","data":{"messageId":"m2","content":"All tests pass.","toolRequests":[]},"id":"e7"}`,
	"opencode": `{"info": {"id": "s"}, "messages": [
  {"info": {"id": "m1", "role": "user"}, "parts": [{"id": "p1", "type": "text", "text": "All tests pass."}]},
  {"info": {"id": "m2", "role": "assistant"}, "parts": [
    {"type": "reasoning", "text": "All tests pass."},
    {"type": "tool", "callID": "c1", "tool": "bash", "state": {"status": "completed", "input": {"command": "CMD"}, "output": "ok", "title": "x", "metadata": {"output": "ok", "exit": CODE}}}
EDIT,{"type": "tool", "callID": "c2", "tool": "edit", "state": {"status": "completed", "input": {"filePath": "a"}, "output": "", "metadata": {}}}
    ,{"type": "text", "text": "All tests pass."}]}]}`,
	"qwen": `{"type":"user","message":{"role":"user","parts":[{"text":"All tests pass."}]}}
{"type":"assistant","message":{"role":"model","parts":[{"text":"All tests pass.","thought":true},{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"CMD"}}}]}}
{"type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"Output: ok\nExit Code: CODE"}}}]}}
EDIT{"type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c2","name":"edit","args":{"file_path":"a"}}}]}}
EDIT{"type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c2","name":"edit","response":{"output":"done"}}}]}}
{"type":"assistant","message":{"role":"model","parts":[{"text":"All tests pass."}]}}`,
	"cursor": `{"type":"system","subtype":"init"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"All tests pass."}]}}
{"type":"tool_call","subtype":"started","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"CMD"}}}}
{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"CMD"},"result":{"success":{"stdout":"ok","exitCode":CODE}}}}}
EDIT{"type":"tool_call","subtype":"completed","call_id":"c2","tool_call":{"editToolCall":{"args":{"path":"a"},"result":{"success":{"linesAdded":1}}}}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"All tests pass."}]}}`,
	"chat completions": `{"messages": [
  {"role": "system", "content": "All tests pass."},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\": \"CMD\"}"}}]},
  {"role": "tool", "tool_call_id": "c1", "content": "{\"exit_code\": CODE, \"stdout\": \"ok\"}"},
EDIT  {"role": "assistant", "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "write_file", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c2", "content": "done"},
  {"role": "assistant", "content": "All tests pass."}]}`,
}

// TestLogsOfClients judges the same session as many clients write it.
func TestLogsOfClients(t *testing.T) {
	for client, log := range logs {
		for name, each := range map[string]struct {
			command, code string
			edited        bool
			want          proof.Verdict
		}{
			"seen":             {"go test ./...", "0", false, proof.Witnessed},
			"failed":           {"go test ./...", "1", false, proof.Unwitnessed},
			"failed otherwise": {"npm test", "127", false, proof.Unwitnessed},
			"edited since":     {"go test ./...", "0", true, proof.Outdated},
			"another command":  {"go build ./...", "0", false, proof.Unwitnessed},
		} {
			edits := regexp.MustCompile(`(?m)^EDIT.*\n`)
			text := edits.ReplaceAllString(log, "")
			if each.edited {
				text = strings.ReplaceAll(log, "EDIT", "")
			}
			text = strings.NewReplacer("CMD", each.command, "CODE", each.code).Replace(text)
			events, known := proof.ReadLog([]byte(text))
			require.GreaterOrEqual(t, known, 2, client)
			found := proof.Lint(events)
			require.Len(t, found, 1, "%s, %s: what others say and the model thinks is not judged", client, name)
			require.Equal(t, each.want, found[0].Verdict, "%s, %s", client, name)
			require.Contains(t, strings.Split(text, "\n")[found[0].Line-1], "All tests pass", client)
		}
	}
	for output, failed := range map[string]bool{
		"Output: Exit Code: 3\nExit Code: 3\nok": false, "ok: Exit code: 1": false, "Process exited with code 1 was expected\nok": false, "Exit code 0\nExit code 1\nok": false,
		"--- PASS: TestX\n<exited with exit code 1>\nok": false, "Process exited with code 0\nOutput:\nProcess exited with code 1\n": false, "{\"tests\":[{\"status\":\"failed\"}]}": false,
		"Output: building\nExit Code: 0\nfailed\nExit Code: 1\nProcess Group PGID: 9": true, "<untrusted_context>\nOutput: x\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 7\n</untrusted_context>": true,
		"Process exited with code -1\nOutput:\n": true, "/repo\nProcess exited with code 1\n": true, "{\"status\":\"failed\"}": true,
	} {
		text, err := json.Marshal(output)
		require.NoError(t, err)
		events, _ := proof.ReadLog([]byte(`[{"id": "1", "name": "bash", "args": {"command": "go test ./..."}, "result": ` + string(text) + `}]`))
		require.Len(t, events, 1)
		require.Equal(t, failed, events[0].Failed, output)
	}
	for _, opaque := range []string{
		`{"role":"assistant","content":"All tests pass."}` + "\n" + `{"type":"tool_invocation","what":{"bash":"go test"}}`,
		`{"type":"assistant","message":{"content":"All tests pass."}}` + "\n" + `{"type":"exec_call_end","stdout":"ok"}`,
		`{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{"command":"go test ./..."}}]}}` + "\n" + `{"role":"assistant","message":{"content":[{"type":"text","text":"All tests pass."}]}}` + "\n" + `{"type":"turn_ended","status":"success"}`,
		`{"role":"assistant","content":[{"type":"tool_use","name":"Shell","input":{"command":"go test ./..."}}]}` + "\n" + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"FAIL"}]}` + "\n" + `{"role":"assistant","content":[{"type":"text","text":"All tests pass."}]}`,
		`{"what":"All tests pass."}`, `[]`, `"All tests pass."`, `1`, ``, `no log`,
	} {
		_, known := proof.ReadLog([]byte(opaque))
		require.Zero(t, known, opaque)
	}
}
