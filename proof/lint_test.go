package proof_test

import (
	"encoding/json"
	"fmt"
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
		"an edit failed":            {session("do: Bash npm test", "ok", "do: Edit x", "fail", "say: All tests pass."), []proof.Verdict{proof.Witnessed}},
		"pushed":                    {session("do: Bash cd x && git push origin main", "ok", "do: Write y", "ok", "say: I've pushed the branch"), []proof.Verdict{proof.Witnessed}},
		"not pushed":                {session("say: Changes have been pushed; I committed them"), []proof.Verdict{proof.Unwitnessed, proof.Unwitnessed}},
		"said by a person":          {session("person: All tests pass."), nil},
		"nothing asserted":          {session("say: Let me see if the tests pass. The tests should pass.\nOnce the tests pass I will push. Do the tests pass? The tests don't pass."), nil},
		"quoted":                    {session("say: The report has `tests pass` in it. > all tests pass"), nil},
		"quoted sentences":          {session("say: Nothing fits \"all is done. I pushed it. All tests pass.\" and so on\n```\nAll tests pass\n```\n“Done. I committed it.”"), nil},
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
	events, _ := proof.ReadLog(session("do: Bash echo 'git push' >notes", "ok", "say: I've pushed the branch"))
	require.Equal(t, proof.Unwitnessed, proof.Lint(events)[0].Verdict)
}
