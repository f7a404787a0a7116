//go:build unix

package clients_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/gate"
	"savant/think/gate/clients"
	"savant/think/gate/sessions"
)

// answerOf runs a hook's line as a client does.
func answerOf(t *testing.T, line, folder string, event []byte, more ...string) clients.Answer {
	t.Helper()
	shell := exec.Command("/bin/sh", "-c", line)
	shell.Dir, shell.Stdin = folder, bytes.NewReader(event)
	shell.Env = append([]string{"PATH=" + os.Getenv("PATH")}, more...)
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	err := shell.Run()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	return clients.Answer{Stdout: stdout.String(), Stderr: stderr.String(), Exit: shell.ProcessState.ExitCode()}
}

// homeOf makes the folder of a project's files of the gate.
func homeOf(t *testing.T, project string) string {
	root, err := os.OpenRoot(project)
	require.NoError(t, err)
	defer root.Close()
	home := filepath.Join(project, sessions.Home(root))
	require.NoError(t, os.MkdirAll(home, 0o700))
	return home
}

// Where the program of a hook is gone, a session that may have an open run is held, in the
// client's own form, and every other call passes: of another session, and in another
// project. Where the program is there, it answers.
func TestAHookWhoseProgramIsGone(t *testing.T) {
	for _, name := range clients.Names() {
		client, err := clients.Find(name)
		require.NoError(t, err)
		if name == "opencode" || name == "cline" { // they load a plugin
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, elsewhere := t.TempDir(), t.TempDir()
			deep := filepath.Join(project, "a b", "c")
			require.NoError(t, os.MkdirAll(deep, 0o755))
			require.NoError(t, os.MkdirAll(filepath.Join(project, ".savant", "hooks"), 0o755))
			gone := filepath.Join(t.TempDir(), "savant of 'old'")
			held := 0
			for _, each := range samples(t, name) {
				report, err := client.Read(each.Stdin, "")
				require.NoError(t, err)
				if report.Session == "" {
					continue
				}
				id, err := json.Marshal(report.Session)
				require.NoError(t, err)
				home := homeOf(t, project)
				file := filepath.Join(home, name+"-0a1b.json")
				require.NoError(t, os.WriteFile(file, []byte(`{"format":1,"client":"`+name+`","session":`+string(id)+`,"prefixes":[],"runs":[{"run":{"id":"r"}}]}`), 0o600))
				event := report.Named
				if name == "copilot-cli" && report.Kind == gate.BeforeTool { // its events do not say their names
					event = client.BeforeTool()
				}
				line := client.Line("'"+strings.ReplaceAll(gone, "'", `'\''`)+"'", event)
				passed := answerOf(t, line, elsewhere, each.Stdin)
				require.Zero(t, passed.Exit)
				require.NotContains(t, passed.Stdout, "deny")
				require.NotContains(t, passed.Stdout, "block")
				answer := answerOf(t, line, deep, each.Stdin)
				if report.Kind != gate.BeforeTool {
					require.Equal(t, passed, answer, "only a call is refused")
					continue
				}
				require.Contains(t, passed.Stderr, "calls pass")
				held++
				require.Contains(t, answer.Stdout+answer.Stderr, "the program of Savant is gone")
				refused := client.Answer(report.Named, gate.Decision{Verdict: gate.Refuse, Reason: "x"})
				require.Equal(t, refused.Exit, answer.Exit)
				require.Equal(t, refused.Stdout == "", answer.Stdout == "")
				require.NoError(t, os.WriteFile(file, []byte(`{"format":1,"client":"`+name+`","session":"another","runs":[]}`), 0o600))
				require.Equal(t, passed, answerOf(t, line, deep, each.Stdin), "another session")
				for _, relative := range []string{".", "a/b", "./a", "/"} {
					require.Equal(t, passed, answerOf(t, line, elsewhere, each.Stdin, "SAVANT_PATH="+relative, "CLAUDE_PROJECT_DIR="+relative), relative)
				}
				require.NoError(t, os.Remove(file))
				for _, brought := range []string{"", "1-0"} { // the same file as a clone brings it
					brought = filepath.Join(filepath.Dir(home), brought)
					require.NoError(t, os.MkdirAll(brought, 0o755))
					file := filepath.Join(brought, name+"-0a1b.json")
					require.NoError(t, os.WriteFile(file, []byte(`{"format":1,"client":"`+name+`","session":`+string(id)+`,"runs":[{"run":{"id":"r"}}]}`), 0o600))
					require.Equal(t, passed, answerOf(t, line, deep, each.Stdin), "brought by a clone")
				}
			}
			require.Positive(t, held)

			program := filepath.Join(t.TempDir(), "savant")
			for _, broken := range []func() error{func() error { return os.Mkdir(program, 0o755) },
				func() error { return os.WriteFile(program, []byte("#!/no/such/interpreter\n"), 0o755) }} {
				require.NoError(t, broken())
				answer := answerOf(t, client.Line(program, client.BeforeTool()), elsewhere, []byte("{}"))
				require.Zero(t, answer.Exit)
				require.Contains(t, answer.Stderr, "calls pass")
				require.NoError(t, os.Remove(program))
			}
			writeProgram(t, program, "#!/bin/sh\necho \"$@\"; cat; exit 3\n")
			answer := answerOf(t, client.Line(program, client.BeforeTool(), "--event", "e"), deep, []byte("the event"))
			require.Equal(t, clients.Answer{Stdout: "hook " + name + " --event e\nthe event", Exit: 3}, answer)
		})
	}
}

// A plugin knows after a restart of its client which sessions may have an open run.
func TestAPluginWhoseProgramIsGone(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	project := t.TempDir()
	deep := filepath.Join(project, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	hooks := filepath.Join(project, ".savant", "hooks")
	require.NoError(t, os.MkdirAll(filepath.Join(hooks, "1-brought"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(hooks, "1-brought", "opencode-1.json"), []byte(`{"format":1,"client":"opencode","session":"s","runs":[]}`), 0o600))
	home := homeOf(t, project)
	require.NoError(t, os.WriteFile(filepath.Join(home, "opencode-1.json"), []byte(`{"format":1,"client":"opencode","session":"s 1","runs":[]}`), 0o600))
	asking, err := filepath.Abs(filepath.Join("plugins", "ask.js"))
	require.NoError(t, err)
	for event, refused := range map[string]bool{
		`{"hook_event_name": "PreToolUse", "session_id": "s 1", "tool_name": "bash", "cwd": "` + deep + `"}`:         true,
		`{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "bash", "cwd": "` + deep + `"}`:           false,
		`{"hook_event_name": "PreToolUse", "session_id": "s 1", "tool_name": "bash", "cwd": "` + os.TempDir() + `"}`: false,
		`{"hook_event_name": "Stop", "session_id": "s 1", "cwd": "` + deep + `"}`:                                    false,
		`{"hook_event_name": "PreToolUse", "session_id": "s 1", "tool_name": "bash"}`:                                false,
	} {
		script := "import { ask } from " + "'file://" + asking + "'\nconsole.log(JSON.stringify(await ask(" + event + ", Date.now() + 5000)))"
		command := exec.Command(node, "--input-type=module", "-e", script)
		command.Env = []string{"PATH=" + filepath.Join(project, "none")}
		said, err := command.CombinedOutput()
		require.NoError(t, err, string(said))
		require.Equal(t, refused, strings.Contains(string(said), `"deny"`), "%s: %s", event, said)
	}
}

// heard are calls, by what is in the project; each says whether the program is to be told
// before the call, and after it.
var heard = []struct {
	name, file, tool string
	before, after    bool
}{
	{"nothing is there", "", "bash", false, false},
	{"workflows alone", "workflows/a.yaml", "bash", false, false},
	{"rules", "rules/a.yaml", "bash", true, true},
	{"packages", "workflows.lock", "bash", true, true},
	{"a session that is held", ".savant/hooks/1-2/any-1.json", "bash", true, true},
	{"a session that was seen", ".savant/hooks/1-2/tools", "bash", true, false},
	{"a run begins", "", "mcp__savant__think_plan", true, true},
}

// The program is told of a call where the project has rules, packages, or a
// session that is held to a run, and otherwise only of calls of Think.
func TestACallIsToldWhereItMatters(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	asking, err := filepath.Abs(filepath.Join("plugins", "ask.js"))
	require.NoError(t, err)
	client, err := clients.Find("claude-code")
	require.NoError(t, err)
	for i := range 2 * len(heard) {
		each, kind := heard[i/2], []string{"PreToolUse", "PostToolUse"}[i%2]
		expected := []bool{each.before, each.after}[i%2]
		t.Run(kind+" "+each.name, func(t *testing.T) {
			template := `{"hook_event_name":"` + kind + `","session_id":"s","cwd":"CWD","tool_name":"` + each.tool + `","tool_response":"x"}`
			project, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			deep, told := filepath.Join(project, "a b", "c"), filepath.Join(t.TempDir(), "told")
			require.NoError(t, os.MkdirAll(deep, 0o755))
			program := filepath.Join(t.TempDir(), "savant")
			writeProgram(t, program, "#!/bin/sh\ncat >'"+told+"'; exit 3\n")
			if each.file != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(project, each.file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(project, each.file), nil, 0o600))
			}
			event := strings.Replace(template, "CWD", deep, 1)
			expect := func(told string, expected bool) {
				t.Helper()
				text, err := os.ReadFile(told)
				require.Equal(t, expected, err == nil)
				if expected {
					require.JSONEq(t, event, string(text))
				}
				_ = os.Remove(told)
			}
			line := client.Line(program, kind)
			require.Equal(t, expected, answerOf(t, line, deep, []byte(event)).Exit == 3)
			expect(told, expected)

			script := "import { ask } from 'file://" + asking + "'\nawait ask(" + event + ", Date.now() + 5000)"
			command := exec.Command(node, "--input-type=module", "-e", script)
			command.Env = []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")}
			said, err := command.CombinedOutput()
			require.NoError(t, err, string(said))
			expect(told, expected)

			// Of another folder than the hook's, and of one that an argument names, the program is asked.
			elsewhere := t.TempDir()
			for _, input := range []string{``, `,"tool_input":{"cwd":"` + elsewhere + `"}`} {
				event = strings.Replace(strings.Replace(template, "CWD", deep, 1), `,"tool_name"`, input+`,"tool_name"`, 1)
				require.Equal(t, 3, answerOf(t, line, elsewhere, []byte(event)).Exit)
				expect(told, true)
			}
			// A folder that a link leads to is the project itself.
			link := filepath.Join(elsewhere, "link")
			require.NoError(t, os.Symlink(deep, link))
			event = strings.Replace(template, "CWD", link, 1)
			require.Equal(t, expected, answerOf(t, line, link, []byte(event), "PWD="+link).Exit == 3)
			expect(told, expected)
		})
	}
}

// writeProgram writes a script by another process: a child that a test beside it starts at the
// same time would hold a file of this process open, and a program that is open is busy.
func writeProgram(t *testing.T, name, text string) {
	t.Helper()
	write := exec.Command("sh", "-c", `cat >"$0" && chmod 755 "$0"`, name)
	write.Stdin = strings.NewReader(text)
	require.NoError(t, write.Run())
}
