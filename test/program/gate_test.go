package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/app"
	"savant/engines"
	"savant/test/mongotest"
	"savant/think/gate"
)

// gatedClient is a client as its hooks report it: see think/gate/clients.
type gatedClient struct {
	name, prefix       string
	before, after, end string // its names of the events
	shell, write       string // its own tools
	wrap               func(reply string) any
	refused, held      func(answer map[string]any) string // the reason, "" where it passes
	environment        []string                           // of its hooks and of the server
	server             *server
	t                  *testing.T
	folder, session    string
	calls              int
}

func top(member string) func(map[string]any) string {
	return func(answer map[string]any) string { reason, _ := answer[member].(string); return reason }
}

func inner(answer map[string]any) string {
	said, _ := answer["hookSpecificOutput"].(map[string]any)
	reason, _ := said["permissionDecisionReason"].(string)
	return reason
}

func contentOf(reply string) any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": reply}}}
}

func shownOf(reply string) any {
	return map[string]any{"llmContent": []any{map[string]any{"text": "<untrusted_context>\n" + reply + "\n</untrusted_context>"}}, "returnDisplay": reply}
}

func gatedClients() []gatedClient {
	claude := gatedClient{name: "claude-code", prefix: "mcp__savant__", before: "PreToolUse", after: "PostToolUse", end: "Stop", shell: "Bash", write: "Write",
		wrap: func(reply string) any { return reply }, refused: inner, held: top("reason")}
	codex := claude
	codex.name, codex.write, codex.wrap = "codex", "apply_patch", contentOf
	qwen := claude
	qwen.name, qwen.shell, qwen.write, qwen.wrap = "qwen-code", "run_shell_command", "write_file", shownOf
	gemini := gatedClient{name: "gemini-cli", prefix: "mcp_savant_", before: "BeforeTool", after: "AfterTool", end: "AfterAgent", shell: "run_shell_command", write: "write_file",
		wrap: shownOf, refused: top("reason"), held: top("reason")}
	opencode := gatedClient{name: "opencode", prefix: "savant_", before: "PreToolUse", after: "PostToolUse", end: "Stop", shell: "bash", write: "write",
		wrap: contentOf, refused: top("reason"), held: top("reason")}
	cline := opencode
	cline.name, cline.prefix, cline.shell, cline.write, cline.end = "cline", "savant__", "run_commands", "editor", ""
	cline.wrap = func(reply string) any { return map[string]any{"output": contentOf(reply)} }
	return []gatedClient{claude, codex, gemini, qwen, opencode, cline}
}

// ask reports an event as the client does, and returns the answer.
func (c *gatedClient) ask(event string, more map[string]any) map[string]any {
	said := map[string]any{"hook_event_name": event, "session_id": c.session, "cwd": c.folder}
	for name, value := range more {
		said[name] = value
	}
	text, err := json.Marshal(said)
	require.NoError(c.t, err)
	command := exec.Command("savant", "hook", c.name)
	command.Dir, command.Stdin, command.Stderr = c.folder, bytes.NewReader(text), os.Stderr
	command.Env = append(slices.DeleteFunc(os.Environ(), func(each string) bool { return strings.HasPrefix(each, "SAVANT_") }), "XDG_CACHE_HOME="+c.t.TempDir())
	command.Env = append(command.Env, c.environment...)
	out, err := command.Output()
	require.NoError(c.t, err)
	answer := map[string]any{}
	if len(out) > 0 {
		require.NoError(c.t, json.Unmarshal(out, &answer))
	}
	return answer
}

// call makes a call through the server, as the client does once its hooks let it pass.
func (c *gatedClient) call(tool string, args any) map[string]any {
	c.calls++
	c.server.send(c.t, c.calls, tool, args)
	require.True(c.t, c.server.lines.Scan())
	var got struct {
		Result struct {
			IsError           bool           `json:"isError"`
			StructuredContent map[string]any `json:"structuredContent"`
		} `json:"result"`
	}
	require.NoError(c.t, json.Unmarshal(c.server.lines.Bytes(), &got))
	require.False(c.t, got.Result.IsError, "%s", c.server.lines.Bytes())
	return got.Result.StructuredContent
}

// tries asks whether a tool may be called: the reason why not.
func (c *gatedClient) tries(tool string, input any) string {
	return c.refused(c.ask(c.before, map[string]any{"tool_name": tool, "tool_input": input}))
}

// does makes a call of the server with the hooks before and after it.
func (c *gatedClient) does(tool string, input any) map[string]any {
	named := c.prefix + strings.ReplaceAll(tool, ".", "_")
	require.Empty(c.t, c.tries(named, input))
	reply := c.call(tool, input)
	text, err := json.Marshal(reply)
	require.NoError(c.t, err)
	require.Empty(c.t, c.ask(c.after, map[string]any{"tool_name": named, "tool_input": input, "tool_response": c.wrap(string(text))}))
	return reply
}

// TestAClientIsHeldToItsRun drives repo_tour beside a real server, with a real process
// for each event of the client's hooks. At every instruction the model first tries a
// shell, a file, another server's tool, another input and an early end.
func TestAClientIsHeldToItsRun(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	for _, client := range gatedClients() {
		t.Run(client.name, func(t *testing.T) {
			t.Parallel()
			isHeld(t, client)
		})
	}
}

// TestAClientIsHeldToItsRunInADatabase is the same with the runs in a database.
func TestAClientIsHeldToItsRunInADatabase(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	server := mongotest.Start(t)
	for _, client := range gatedClients()[:2] {
		client.environment = []string{"SAVANT_STORE=mongo", "MONGO_URI=" + server.URI(mongotest.NewDatabase())}
		t.Run(client.name, func(t *testing.T) { isHeld(t, client) })
	}
}

func isHeld(t *testing.T, c gatedClient) {
	c.t, c.folder, c.session = t, repository(t, "one\n", "two\n"), "s1"
	c.server = serveIn(t, c.folder, c.environment...)
	require.Empty(t, c.tries(c.shell, map[string]any{"command": "ls"}), "no run is open")
	const run = "r1"
	reply := c.does("think.plan", map[string]any{"workflow": "repo_tour", "run_id": run})
	refused := 0
	for reply["done"] != true {
		next := reply["instruction"].(map[string]any)
		call, input := next["call"].(string), next["input"].(map[string]any)
		own := c.prefix + strings.ReplaceAll(call, ".", "_")
		for tool, args := range map[string]any{c.shell: map[string]any{"command": "touch x"}, c.write: map[string]any{"file_path": "x"},
			"mcp__other__run": map[string]any{}, own: map[string]any{"repo": "elsewhere"}, c.prefix + "ci_run": map[string]any{"name": "x"}} {
			reason := c.tries(tool, args)
			require.Contains(t, reason, "Refused: ", tool)
			require.Contains(t, reason, "call "+call+" with exactly", tool)
			refused++
		}
		if c.end != "" {
			require.Contains(t, c.held(c.ask(c.end, nil)), "call "+call)
		}
		result := c.does(call, input)
		reply = c.does("think.next", map[string]any{"run_id": run, "step_id": next["step_id"], "result_ref": result["_receipt"]})
	}
	require.Equal(t, "done", reply["outcome"])
	if c.end != "" {
		require.Empty(t, c.held(c.ask(c.end, nil)))
	}
	require.Empty(t, c.tries(c.shell, map[string]any{"command": "ls"}), "the run has ended")
	require.Positive(t, refused)
	for command, want := range map[string]string{"verify": fmt.Sprintf("identical; witness %d gateway; refused %d", refused/5, refused), "state show": fmt.Sprintf("%d calls that were not issued", refused)} {
		shows := exec.Command("savant", append(strings.Fields(command), run, "--path", c.folder)...)
		shows.Env = append(os.Environ(), c.environment...)
		out, err := shows.Output()
		require.NoError(t, err)
		require.Contains(t, string(out), want)
	}
}

// TestEnforcementThatIsRequired: a plan needs a hook that saw the call.
func TestEnforcementThatIsRequired(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	t.Run("folder", func(t *testing.T) {
		folder := enforced(t)
		testEnforcement(t, folder, folder)
	})
	t.Run("database", func(t *testing.T) { // the server is of another folder than the hooks
		uri := mongotest.Start(t).URI(mongotest.NewDatabase())
		testEnforcement(t, enforced(t), t.TempDir(), "SAVANT_STORE=mongo", "MONGO_URI="+uri)
	})
}

// enforced is a project with a workflow that needs hooks.
func enforced(t *testing.T) (folder string) {
	folder = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "held.yaml"),
		[]byte("name: held\nversion: \"1\"\nenforce: required\nsteps:\n  - {id: a, call: llm.generate, allow: [Bash], input_template: {task: t}}\n  - {id: b, call: llm.generate, input_template: {task: t}}\n"), 0o600))
	return folder
}

// testEnforcement plans and answers where a server works in a folder, and its clients in
// another or the same.
func testEnforcement(t *testing.T, serves, folder string, environment ...string) {
	c := gatedClients()[0]
	c.t, c.folder, c.session, c.environment = t, folder, "s1", environment
	c.server = serveIn(t, serves, environment...)
	c.server.send(t, 1, "think.plan", map[string]any{"workflow": "held"})
	require.True(t, c.server.lines.Scan())
	require.Contains(t, c.server.lines.Text(), "HOOKS_MISSING")
	require.Contains(t, c.server.lines.Text(), " setup CLIENT")
	reply := c.does("think.plan", map[string]any{"workflow": "held"})
	require.Equal(t, []any{"Bash"}, reply["instruction"].(map[string]any)["allow"])
	require.Empty(t, c.tries("Bash", map[string]any{"command": "make"}))
	require.Contains(t, c.tries("Read", map[string]any{"file_path": "README.md"}), "these tools are allowed: Bash")
	c.server.send(t, 2, "think.plan", map[string]any{"workflow": "held"})
	require.True(t, c.server.lines.Scan())
	require.Contains(t, c.server.lines.Text(), "HOOKS_MISSING", "a probe counts once")
	run := reply["state"].(map[string]any)["run_id"]
	answer := func(step string) map[string]any {
		return map[string]any{"run_id": run, "step_id": step, "result_snapshot": map[string]any{"text": "x"}}
	}
	for _, unasked := range []map[string]any{answer("a"), {"step_id": "a", "result_snapshot": map[string]any{}}} {
		c.server.send(t, 3, "think.next", unasked)
		require.True(t, c.server.lines.Scan())
		require.Contains(t, c.server.lines.Text(), "HOOKS_MISSING", "a session without hooks goes on with the run")
	}
	c.session = "s2"
	require.Equal(t, "b", c.does("think.next", answer("a"))["instruction"].(map[string]any)["step_id"], "a session with hooks goes on with it")
	require.Equal(t, true, c.does("think.next", answer("b"))["done"])
	require.Equal(t, true, c.call("think.next", answer("b"))["done"], "a run that has ended needs no hooks")
}

// TestOnlyAHookAnnounces: no tool of a server announces a call, so neither a model nor the
// bearer of a token can say that a hook ran, or hold another's session to a run.
func TestOnlyAHookAnnounces(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	folder := enforced(t)
	plan := map[string]any{"workflow": "held", "run_id": "r1"}
	event := map[string]any{"client": "claude-code", "hook_event_name": "PreToolUse", "session_id": "victim", "cwd": folder,
		"tool_name": "mcp__savant__think_plan", "tool_input": plan}
	configuration := "XDG_CONFIG_HOME=" + t.TempDir()
	token := exec.Command("savant", "token", "add", "guide", "--folder", folder, "--scope", "guide")
	token.Env = append(os.Environ(), configuration)
	bearer, err := token.Output()
	require.NoError(t, err)
	stdio, remote := serveIn(t, folder), serveHTTP(t, t.TempDir(), configuration)
	calls := map[string]func(tool string, args any) string{
		"stdio": func(tool string, args any) string {
			stdio.send(t, 1, tool, args)
			require.True(t, stdio.lines.Scan())
			return stdio.lines.Text()
		},
		"HTTP": func(tool string, args any) string {
			_, body := remote.callHTTP(t, strings.TrimSpace(string(bearer)), tool, args)
			return body
		},
		"the agent": func(tool string, args any) string {
			given, err := json.Marshal(args)
			require.NoError(t, err)
			command := exec.Command("savant", "run", "--quiet", "--output", "json", "--path", folder, "--force-tool", tool, "--force-args", string(given), "--force-finish")
			command.Env = append(os.Environ(), "AGENT_ALLOW_THINK_TOOLS=1")
			out, err := command.Output()
			require.ErrorAs(t, err, new(*exec.ExitError))
			return string(out)
		},
	}
	for name, call := range calls {
		for _, tool := range []string{"think.hook", "think_hook", "mcp__savant__think_hook"} {
			require.Regexp(t, "UNKNOWN_TOOL|TOOL_DENIED", call(tool, event), name)
		}
		require.Contains(t, call("think.plan", plan), "HOOKS_MISSING", name)
	}
	require.NoDirExists(t, filepath.Join(folder, ".savant", "hooks"))
	_, err = stdio.stdin.Write([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"))
	require.NoError(t, err)
	require.True(t, stdio.lines.Scan())
	require.NotContains(t, stdio.lines.Text(), "think_hook")

	c := gatedClients()[0] // the twin: the hook's own process announces
	c.t, c.folder, c.session, c.server = t, folder, "s1", stdio
	require.NotEmpty(t, c.does("think.plan", plan)["instruction"])
}

// TestTheGateFollowsTheAnnotations: what the hook's process knows of the tools is what
// the server's registry says, and a model that answers a step may call those that only
// read and all of Think, but no other.
func TestTheGateFollowsTheAnnotations(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := openApp(t, folder)
	want, err := a.Described()
	require.NoError(t, err)
	require.NoError(t, a.Close(t.Context()))
	tools, err := app.DescribeTools(folder)
	require.NoError(t, err)
	require.Equal(t, want, tools)
	run := gate.Run{Workflow: "w", ID: "r", Status: "running", Issued: []gate.Issued{{Step: "a", Call: "llm.generate"}}}
	own := gate.Own{Prefixes: []string{"mcp__savant__"}, Tools: tools}
	for _, tool := range tools {
		event := gate.Event{Kind: gate.BeforeTool, Tool: "mcp__savant__" + strings.ReplaceAll(tool.Name, ".", "_"), Input: json.RawMessage(`{"save":"x"}`)}
		passes := gate.Decide([]gate.Run{run}, own, event).Verdict == gate.Pass
		require.Equal(t, tool.ReadOnly || engines.EngineOf(tool.Name) == "think", passes, tool.Name)
	}
}

// A hook whose database is behind a slow network decides, although its many round trips
// take longer than a decision in a folder may.
func TestAHookWaitsForAFarDatabase(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	folder := t.TempDir()
	environment := []string{"SAVANT_STORE=mongo", "MONGO_URI=" + proxy.URI(mongotest.NewDatabase()), "SAVANT_PATH=" + folder}
	asks := func(input string, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		require.Equal(t, exitOK, run(t.Context(), args, environment, strings.NewReader(input), &out, &errs), errs.String())
		return out.String()
	}
	asks("", "call", "think.plan", "--args", `{"workflow": "hello", "run_id": "r1"}`)
	next := `{"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "mcp__savant__think_next", "tool_input": {"run_id": "r1"}}`
	proxy.Use(mongotest.Faults{Latency: 110 * time.Millisecond})
	require.Empty(t, asks(next, "hook", "codex", "--path", folder))
	require.Contains(t, asks(`{"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}`, "hook", "codex", "--path", folder), "while you answer step greet")
}
