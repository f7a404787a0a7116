package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think/gate"
	"savant/think/gate/clients"
	"savant/think/gate/sessions"
	"savant/think/state"
)

// breaking is a stream that a hook cannot read.
type breaking struct{ because func() error }

func (b breaking) Read([]byte) (int, error) { return 0, b.because() }

// gateOf makes the folder of the gate's files.
func gateOf(t *testing.T, folder string) string {
	require.NoError(t, os.MkdirAll(filepath.Join(folder, ".savant", "hooks"), 0o700))
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	home := filepath.Join(folder, sessions.Home(root))
	require.NoError(t, os.MkdirAll(home, 0o700))
	return home
}

// TestWhatGoesWrongIsRefused: a panic, a stream that fails and one that never ends answer a
// refusal while a session of the client is held, and nothing otherwise.
func TestWhatGoesWrongIsRefused(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	for name, c := range map[string]struct {
		ctx   context.Context
		stdin io.Reader
		says  string
	}{
		"a panic":              {t.Context(), breaking{func() error { panic("broken") }}, "the gate failed"},
		"a broken stream":      {t.Context(), breaking{func() error { return io.ErrUnexpectedEOF }}, "could not be read"},
		"a stream without end": {ended, silent, "did not decide within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			client, err := clients.Find("codex")
			require.NoError(t, err)
			answer := func() clients.Answer {
				h := &hook{Program: &cli.Program{Stdin: c.stdin, Stdout: &terminal.Output{Writer: io.Discard}, Stderr: io.Discard}}
				return h.answer(c.ctx, client, folder)
			}
			require.Equal(t, clients.Answer{}, answer())
			home := gateOf(t, folder)
			require.NoError(t, os.WriteFile(filepath.Join(home, "claude-code-1.json"), []byte("{}"), 0o600))
			require.Equal(t, clients.Answer{}, answer(), "another client's session")
			require.NoError(t, os.WriteFile(filepath.Join(home, "codex-1.json"), []byte("{}"), 0o600))
			refused := answer()
			require.Contains(t, refused.Stdout, `"permissionDecision":"deny"`)
			require.Contains(t, refused.Stdout, c.says)
		})
	}
}

// TestAnEventThatCannotBeReadIsOfTheClientsProject: the variable names the project where
// the event does not.
func TestAnEventThatCannotBeReadIsOfTheClientsProject(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(gateOf(t, folder), "claude-code-1.json"), []byte("{}"), 0o600))
	client, err := clients.Find("claude-code")
	require.NoError(t, err)
	for _, stdin := range []io.Reader{strings.NewReader("no JSON"), breaking{func() error { panic("broken") }}} {
		h := &hook{Program: &cli.Program{Stdin: stdin, Stderr: io.Discard, World: cli.World{Environment: []string{"CLAUDE_PROJECT_DIR=" + folder}}}}
		require.Contains(t, h.answer(t.Context(), client, "").Stdout, "Refused")
	}
}

// TestEveryClientIsHeldAfterItsPlan: whatever a client's report of think.plan looks like,
// recorded or documented, its session is held to the run.
func TestEveryClientIsHeldAfterItsPlan(t *testing.T) {
	ids := regexp.MustCompile(`run_id\W+([A-Za-z0-9]+)`)
	for _, name := range clients.Names() {
		client, err := clients.Find(name)
		require.NoError(t, err)
		events, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "think", "gate", "clients", "testdata", "events", name+".ndjson"))
		require.NoError(t, err)
		plans := 0
		for line := range bytes.Lines(events) {
			var sample struct{ Stdin json.RawMessage }
			require.NoError(t, json.Unmarshal(line, &sample))
			report, err := client.Read(sample.Stdin, "")
			require.NoError(t, err)
			if tool, _, _ := gate.Stepping(report.Tool); report.Kind != gate.AfterTool || tool != "think.plan" {
				continue
			}
			found := ids.FindSubmatch(sample.Stdin)
			require.NotNil(t, found, "%s", sample.Stdin)
			folder := t.TempDir()
			store, err := state.Open(folder, state.Options{})
			require.NoError(t, err)
			_, err = store.Append(t.Context(), state.Key{Workflow: "repo_tour", Run: string(found[1])}, state.Record{Version: 1, Kind: "plan", Status: "running", State: "s1",
				Data: json.RawMessage(`{"reply":{"reply":{"instruction":{"step_id":"a","call":"git.status","input":{}}}}}`)})
			require.NoError(t, err)
			require.NoError(t, store.Close())
			opened, err := sessions.Open(folder, sessions.Folder{}, time.Now)
			require.NoError(t, err)
			require.False(t, opened.Gated(t.Context(), name, report.Session))
			opened.Ask(t.Context(), report.Event)
			require.True(t, opened.Gated(t.Context(), name, report.Session), "%s: %s", name, sample.Stdin)
			require.NoError(t, opened.Close())
			plans++
		}
		require.NotZero(t, plans, name)
	}
}

// TestHostileEvents: whatever is wrong with an event, it is refused while a run of its
// session is open, and passes otherwise.
func TestHostileEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	folder := t.TempDir()
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	_, err = store.Append(t.Context(), state.Key{Workflow: "tour", Run: "r1"}, state.Record{Version: 1, Kind: "plan", Status: "running", State: "s1",
		Data: json.RawMessage(`{"reply":{"reply":{"instruction":{"step_id":"a","call":"git.status","input":{}}}}}`)})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	event := func(tool, input string) string {
		quoted := fmt.Sprintf("%q", input)
		return `{"hook_event_name":"PreToolUse","hookEventName":"PreToolUse","session_id":"s1","sessionId":"s1","conversation_id":"s1","trajectory_id":"s1",` +
			`"agent_action_name":"pre_mcp_tool_use","tool_name":"` + tool + `","toolName":"` + tool + `","tool_input":` + input + `,"toolArgs":` + quoted +
			`,"tool_info":{"mcp_server_name":"savant","mcp_tool_name":"` + strings.TrimPrefix(tool, "mcp__savant__") + `","mcp_tool_arguments":` + input + `}}`
	}
	plain := event("Bash", `{"command":"touch x"}`)
	hostile := map[string]string{
		"ordinary": plain, "empty": "", "no JSON": "touch", "a list": "[]", "twice": plain + plain, "cut": plain[:len(plain)-3],
		"UTF-16":         "\xff\xfe" + strings.Join(strings.Split(plain, ""), "\x00"),
		"a mark":         "\ufeff" + plain,
		"large":          event("Bash", `{"command":"`+strings.Repeat("x", 2<<20)+`"}`),
		"deep":           event("Bash", strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)),
		"a NUL":          strings.ReplaceAll(plain, "touch", "a\x00b"),
		"an escaped NUL": strings.ReplaceAll(plain, "touch", `a\u0000b`),
		"no UTF-8":       strings.ReplaceAll(plain, "touch", "a\xffb"),
		"a large number": event("Bash", `{"n":1e999999999}`),
		"no session":     strings.ReplaceAll(plain, `"s1"`, `""`),
		"a wrong type":   strings.ReplaceAll(plain, `"s1"`, `1`),
		"another event":  strings.ReplaceAll(plain, "PreToolUse", "New"),
		"no event":       strings.NewReplacer(`"PreToolUse"`, "null", `"pre_mcp_tool_use"`, "null").Replace(plain),
		"no input":       event("Bash", "null"),
	}
	for _, name := range clients.Names() {
		client, err := clients.Find(name)
		require.NoError(t, err)
		said := func(text string) string {
			h := &hook{Program: &cli.Program{Stdin: strings.NewReader(text), Stdout: &terminal.Output{Writer: io.Discard}, Stderr: io.Discard}}
			answer := h.answer(t.Context(), client, folder)
			return answer.Stdout + answer.Stderr
		}
		for why, text := range hostile {
			require.NotContains(t, said(text), "Refused", "%s: %s", name, why)
		}
		require.NotContains(t, said(event("mcp__savant__think_next", `{"run_id":"r1"}`)), "Refused", name)
		for why, text := range hostile {
			if name == "kiro" && (why == "no session" || why == "a wrong type") {
				continue // Kiro tells no session: the folder stands for it, and this event has none
			}
			require.Contains(t, said(text), "Refused", "%s: %s", name, why)
		}
	}
}

// TestTheProjectIsTheServersOwn: what was named, else what the client says, and the
// project above that.
func TestTheProjectIsTheServersOwn(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	sub := filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(top, ".savant"), 0o700))
	variables := func(text string) func(string) (string, bool) {
		return func(name string) (string, bool) { _, value, ok := strings.Cut(text, name+"="); return value, ok }
	}
	for i, c := range []struct{ client, named, variables, reported, want string }{
		{"claude-code", "/named", "CLAUDE_PROJECT_DIR=" + top, sub, "/named"},
		{"claude-code", "", "", sub, top},
		{"claude-code", "", "CLAUDE_PROJECT_DIR=" + top, "/elsewhere", top},
		{"qwen-code", "", "QWEN_PROJECT_DIR=" + sub, "", top},
		{"gemini-cli", "", "GEMINI_PROJECT_DIR=" + sub, "/elsewhere", top},
		{"claude-code", "", "", top, top},
		{"codex", "", "CLAUDE_PROJECT_DIR=/elsewhere", sub, top}, // started inside Claude Code
		{"qwen-code", "", "CLAUDE_PROJECT_DIR=/elsewhere", sub, top},
	} {
		require.Equal(t, c.want, projectOf(c.client, c.named, variables(c.variables), c.reported), fmt.Sprint(i))
	}
}
