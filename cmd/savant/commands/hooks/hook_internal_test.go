package hooks

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/think/gate/clients"
)

// breaking is a stream that a hook cannot read.
type breaking struct{ because func() error }

func (b breaking) Read([]byte) (int, error) { return 0, b.because() }

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
			require.NoError(t, os.MkdirAll(filepath.Join(folder, ".savant", "hooks"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "hooks", "claude-code-1.json"), []byte("{}"), 0o600))
			require.Equal(t, clients.Answer{}, answer(), "another client's session")
			require.NoError(t, os.WriteFile(filepath.Join(folder, ".savant", "hooks", "codex-1.json"), []byte("{}"), 0o600))
			refused := answer()
			require.Contains(t, refused.Stdout, `"permissionDecision":"deny"`)
			require.Contains(t, refused.Stdout, c.says)
		})
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
	for i, c := range []struct{ named, variables, reported, want string }{
		{"/named", "CLAUDE_PROJECT_DIR=" + top, sub, "/named"},
		{"", "", sub, top},
		{"", "CLAUDE_PROJECT_DIR=" + top, "/elsewhere", top},
		{"", "QWEN_PROJECT_DIR=" + sub, "", top},
		{"", "", top, top},
	} {
		require.Equal(t, c.want, projectOf(c.named, variables(c.variables), c.reported), fmt.Sprint(i))
	}
}
