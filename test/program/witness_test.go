package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var carried = regexp.MustCompile(`"_receipt": ?"([a-z2-7]{8})"`)

// receipt keeps the receipt that the last output carries: receipt VARIABLE.
func receipt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: receipt VARIABLE")
	}
	found := carried.FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("the output carries no receipt")
	}
	ts.Setenv(args[0], found[1])
}

// toolReply is the reply to a tools/call as a client gets it.
type toolReply struct {
	ID     int
	Result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
}

// request calls a tool of a server and returns the reply and the bytes of the
// request's arguments.
func (s *server) request(t *testing.T, id int, tool string, args map[string]any) (toolReply, int) {
	t.Helper()
	s.send(t, id, tool, args)
	var got toolReply
	for got.ID != id {
		require.True(t, s.lines.Scan(), "the server ended its output")
		got = toolReply{}
		require.NoError(t, json.Unmarshal(s.lines.Bytes(), &got))
	}
	require.Len(t, got.Result.Content, 1)
	require.Equal(t, string(got.Result.StructuredContent), got.Result.Content[0].Text, "text and structured content are one")
	sent, err := json.Marshal(args)
	require.NoError(t, err)
	return got, len(sent)
}

// member returns a member of a reply's structured content as JSON.
func (r toolReply) member(t *testing.T, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(r.Result.StructuredContent, &members))
	return string(members[name])
}

const witnessedWorkflow = `name: witnessed
version: "1.0"
params: {ref: {type: string, required: true}}
steps:
  - id: look
    call: git.show
    input_template: {ref: "{{ params.ref }}"}
    witness: required
    capture_as: change
  - id: more
    call: llm.generate
    input_template: {task: "Review {{ len(state.change.files) }} files"}
outputs: {subject: "{{ state.change.commit.subject }}"}
`

// largeRepository is a repository whose one commit makes git.show answer with
// about as much as is handed on whole.
func largeRepository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	place := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	place("workflows/witnessed.yaml", witnessedWorkflow)
	place("long.txt", strings.Repeat(strings.Repeat("a line ", 10)+"\n", 13000))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Add <much> & more"}} {
		command := exec.Command("git", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return folder
}

// TestFabricatedResultIsRefused is what a client meets that makes a result up,
// and then calls the tool: through the server's standard streams.
func TestFabricatedResultIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	folder := largeRepository(t)
	s := serveIn(t, folder, "MCP_SERVICE=think,git")
	planned, _ := s.request(t, 1, "think_plan", map[string]any{"workflow": "witnessed", "run_id": "r1", "params": map[string]any{"ref": "HEAD"}})
	require.False(t, planned.Result.IsError, planned.Result.Content[0].Text)
	require.Contains(t, planned.member(t, "note"), "result_ref")
	require.Empty(t, planned.member(t, "_receipt"), "what Think answers is no witness")

	next := map[string]any{"workflow": "witnessed", "run_id": "r1", "step_id": "look"}
	with := func(name string, value any) map[string]any {
		args := map[string]any{name: value}
		for key, each := range next {
			args[key] = each
		}
		return args
	}
	refused, _ := s.request(t, 2, "think_next", with("result_snapshot", map[string]any{"commit": map[string]any{"subject": "Invented"}, "files": []any{}}))
	require.True(t, refused.Result.IsError)
	require.Equal(t, `"NOT_WITNESSED"`, refused.member(t, "error"))

	other, _ := s.request(t, 3, "git_show", map[string]any{"ref": "HEAD", "no_patch": true})
	var id string
	require.NoError(t, json.Unmarshal([]byte(other.member(t, "_receipt")), &id))
	refused, _ = s.request(t, 4, "think_next", with("result_ref", id))
	require.Equal(t, `"NOT_WITNESSED"`, refused.member(t, "error"), "a call with other arguments")

	called, _ := s.request(t, 5, "git_show", map[string]any{"ref": "HEAD", "wait_for_previous": true})
	require.False(t, called.Result.IsError)
	t.Logf("the result takes %d bytes", len(called.Result.StructuredContent))
	require.NoError(t, json.Unmarshal([]byte(called.member(t, "_receipt")), &id))
	first, size := s.request(t, 6, "think_next", with("result_ref", id))
	require.False(t, first.Result.IsError, first.Result.Content[0].Text)
	require.Less(t, size, 300)
	again, _ := s.request(t, 7, "think_next", with("result_ref", id))
	require.Equal(t, string(first.Result.StructuredContent), string(again.Result.StructuredContent))

	require.NoError(t, s.stdin.Close())
	for s.lines.Scan() {
	}
	require.NoError(t, s.wait(t))
}
