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

	"savant/internal/ownfolder"
	"savant/think/gate"
	"savant/think/gate/clients"
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
				home := filepath.Join(project, ".savant", "hooks", ownfolder.IdentityOf(filepath.Join(project, ".savant", "hooks")))
				require.NoError(t, os.MkdirAll(home, 0o755))
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
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"; cat; exit 3\n"), 0o755))
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
	home := filepath.Join(hooks, ownfolder.IdentityOf(hooks))
	require.NoError(t, os.MkdirAll(home, 0o755))
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
