//go:build unix

package sessions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/gate"
)

// planted are what a clone can bring under a name of Savant's.
func planted(t *testing.T) map[string]func(path string) error {
	outside := t.TempDir()
	return map[string]func(string) error{
		"a link out":        func(path string) error { return os.Symlink(outside, path) },
		"a link to nowhere": func(path string) error { return os.Symlink(filepath.Join(outside, "nowhere"), path) },
		"a file":            func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a loop":            func(path string) error { return os.Symlink(filepath.Base(path), path) },
	}
}

// TestNoPairNoGate: whatever a clone brings in the place of the gate's files, a session
// without a run calls what it likes. One that plans a run is told which command helps, and
// the command does.
func TestNoPairNoGate(t *testing.T) {
	for _, place := range []string{".savant", ".savant/hooks", ".savant/hooks/HOME", ".savant/hooks/HOME/.lock", ".savant/hooks/HOME/probes"} {
		for what, plant := range planted(t) {
			if strings.HasSuffix(place, ".lock") && what == "a file" {
				continue // what Savant makes there
			}
			t.Run(place+" is "+what, func(t *testing.T) {
				p := newProject(t, t.TempDir())
				defer p.close()
				above, below, inHome := strings.Cut(place, "HOME")
				above = filepath.Join(p.path, above)
				path := above
				if inHome { // whose name no clone knows
					require.NoError(t, os.MkdirAll(above, 0o700))
					path = filepath.Join(homeOf(t, p.path), below)
				}
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, plant(path))
				p.restart()
				for _, session := range []string{"one", ""} {
					require.Equal(t, gate.Pass, p.tries(session, "Bash", `{"command":"ls"}`), "session %q", session)
					require.Equal(t, gate.Pass, p.ask(event(session, gate.TurnEnd, "", "")).Verdict)
				}
				require.False(t, p.gate.Gated(t.Context(), "claude-code", "one"))
				require.False(t, p.gate.Gated(t.Context(), "claude-code", ""))
				probed, err := p.gate.Probed(t.Context(), "tour", "")
				require.NoError(t, err)
				require.False(t, probed)

				decided := p.ask(event("one", gate.BeforeTool, "mcp__savant__think_plan", `{"workflow":"tour"}`))
				require.Equal(t, gate.GateFailed, decided.Why, "the run could not be kept")
				require.Contains(t, decided.Reason, "savant hook release")
				named, err := filepath.Rel(p.path, path)
				require.NoError(t, err)
				require.Contains(t, decided.Reason, named)
				_, err = os.Lstat(path)
				require.NoError(t, err, "nothing is moved before a person says so")
				moved, err := p.gate.MoveAside()
				require.NoError(t, err)
				require.Len(t, moved, 1)
				_, err = p.gate.Release(t.Context(), "")
				require.NoError(t, err)
				_, err = os.Lstat(filepath.Join(p.path, moved[0]))
				require.NoError(t, err, "it is kept")

				require.Equal(t, gate.Pass, p.tries("one", "mcp__savant__think_plan", `{"workflow":"tour"}`))
				p.record("r1", "plan", "running", step(1))
				p.planned("one", "r1")
				require.Equal(t, gate.Refuse, p.tries("one", "Bash", `{"command":"ls"}`), "the twin: a session with a run is held")
				require.Equal(t, gate.Pass, p.tries("two", "Bash", `{"command":"ls"}`))
			})
		}
	}
}

// TestADamagedSessionGatesItselfAlone: also where its file is no file, and too large.
func TestADamagedSessionGatesItselfAlone(t *testing.T) {
	kinds := planted(t)
	delete(kinds, "a link out") // leads to a session that nobody has
	kinds["a folder"] = func(path string) error { return os.MkdirAll(filepath.Join(path, "below"), 0o700) }
	kinds["too large"] = func(path string) error {
		return os.WriteFile(path, make([]byte, 17<<20), 0o600)
	}
	for what, plant := range kinds {
		t.Run(what, func(t *testing.T) {
			p := newProject(t, t.TempDir())
			defer p.close()
			p.record("r1", "plan", "running", step(1))
			p.planned("one", "r1")
			p.planned("two", "r1")
			var own string
			for _, file := range filesOf(t, p.path) {
				text, err := os.ReadFile(filepath.Join(p.path, file))
				require.NoError(t, err)
				var held struct{ Session string }
				require.NoError(t, json.Unmarshal(text, &held))
				if held.Session == "one" {
					own = filepath.Join(p.path, file)
				}
			}
			require.NoError(t, os.Remove(own))
			require.NoError(t, plant(own))
			require.Equal(t, gate.Pass, p.tries("three", "Bash", `{}`))
			require.Equal(t, gate.NotIssued, p.ask(event("two", gate.BeforeTool, "Bash", `{}`)).Why)
			continued, err := p.gate.Continued(t.Context(), "tour", "r1", "s1")
			require.NoError(t, err)
			require.False(t, continued)
			require.False(t, p.gate.Gated(t.Context(), "claude-code", "three"))
			_, err = p.gate.Release(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, gate.Pass, p.tries("one", "Bash", `{}`))
			require.Equal(t, gate.Pass, p.tries("two", "Bash", `{}`))
		})
	}
}

// TestACloneBringsNoPair: a clone knows the id of a session, as of Kiro, whose id is its
// folder's path, and of each client that counts. It brings the files of a session that is held,
// and those of a hook that was asked, under every name that it can know.
func TestACloneBringsNoPair(t *testing.T) {
	here := newProject(t, t.TempDir())
	defer here.close()
	here.record("r1", "plan", "running", step(1))
	here.planned("one", "r1")
	require.Equal(t, gate.Refuse, here.tries("one", "Bash", `{"command":"ls"}`), "the twin: the session that planned is held")
	require.Equal(t, gate.Pass, here.tries("two", "mcp__savant__think_plan", `{"workflow":"tour"}`))

	clone := newProject(t, t.TempDir())
	defer clone.close()
	require.NoError(t, os.CopyFS(filepath.Join(clone.path, ".savant"), os.DirFS(filepath.Join(here.path, ".savant"))))
	hooks := filepath.Join(clone.path, ".savant", "hooks")
	for _, name := range []string{".", "none", "0-0", "1-0"} {
		require.NoError(t, os.MkdirAll(filepath.Join(hooks, name), 0o700))
		for _, file := range append(filesOf(t, here.path), "damaged") {
			text, err := os.ReadFile(filepath.Join(here.path, file))
			if err != nil {
				text, file = []byte("damaged"), filesOf(t, here.path)[0]
			}
			require.NoError(t, os.WriteFile(filepath.Join(hooks, name, filepath.Base(file)), text, 0o600))
		}
	}
	clone.restart()
	require.Equal(t, gate.Pass, clone.tries("one", "Bash", `{"command":"ls"}`))
	require.Equal(t, gate.Pass, clone.ask(event("one", gate.TurnEnd, "", "")).Verdict)
	require.False(t, clone.gate.Gated(t.Context(), "claude-code", "one"))
	require.False(t, clone.gate.Gated(t.Context(), "claude-code", ""))
	probed, err := clone.gate.Probed(t.Context(), "tour", "")
	require.NoError(t, err)
	require.False(t, probed, "no hook was asked here")
	require.Equal(t, gate.Pass, clone.tries("one", "mcp__savant__think_next", `{"run_id":"r1"}`))
	require.Equal(t, gate.Refuse, clone.tries("one", "Bash", `{"command":"ls"}`), "it is held from its own call on")
}
