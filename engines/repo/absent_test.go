package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A search that finds nothing says what git has not checked out, and nothing of it where
// all is there.
func TestASearchSaysWhatIsNotCheckedOut(t *testing.T) {
	folder, registry := project(t, map[string]string{"a/f": "alpha\n", "b/f": "beta\n", "b/g": "beta\n"})
	git := func(in string, args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", in, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	note := func() any {
		out, err := call(t, registry, "context.search", map[string]any{"query": "beta"})
		require.NoError(t, err)
		return out["note"]
	}
	git(folder, "init", "-q")
	git(folder, "add", "-A")
	git(folder, "commit", "-q", "-m", "first")
	require.Nil(t, note())
	git(folder, "sparse-checkout", "set", "a")
	require.Contains(t, note(), "sparse checkout: 2 files; git sparse-checkout add FOLDER")
	git(folder, "sparse-checkout", "add", "b")
	require.Nil(t, note())
	git(folder, "sparse-checkout", "disable")

	module := t.TempDir()
	git(module, "init", "-q")
	git(module, "commit", "-q", "--allow-empty", "-m", "first")
	git(folder, "submodule", "--quiet", "add", module, "m")
	require.Nil(t, note())
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "m")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "m"), 0o755))
	require.Contains(t, note(), "not checked out: 1 submodule; git submodule update --init")
}
