package repo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
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
	for path, left := range map[string]bool{"b/f": true, "b": true, "b/no": false} {
		_, err := call(t, registry, "context.read", map[string]any{"path": path})
		require.ErrorIs(t, err, fault.InvalidParams)
		require.Equal(t, left, strings.Contains(fmt.Sprint(fault.From(err).Hint), "sparse checkout"), path)
	}
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

// A bare repository has no files to search, and says so.
func TestASearchNamesABareRepository(t *testing.T) {
	folder, registry := project(t, map[string]string{"a": "alpha\n"})
	out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", folder).CombinedOutput()
	require.NoError(t, err, string(out))
	found, err := call(t, registry, "context.search", map[string]any{"query": "beta"})
	require.NoError(t, err)
	require.Contains(t, found["note"], "bare repository")
}

// A search names the files of rules that are too large to be applied, with git and
// without, also the next process, which has the listing from the index.
func TestASearchNamesRulesThatAreTooLarge(t *testing.T) {
	folder, registry := project(t, map[string]string{"a/f": "alpha\n", "a/.gitignore": "*.log\n", "b/.gitignore": "*.log\n", "a/x.log": "alpha\n", "b/x.log": "alpha\n"})
	search := func() map[string]any {
		out, err := call(t, registry, "context.search", map[string]any{"query": "alpha"})
		require.NoError(t, err)
		return out
	}
	require.Len(t, search()["rows"], 1)
	require.Nil(t, search()["note"], "the twin: rules of a usual size are applied")
	require.NoError(t, os.Truncate(filepath.Join(folder, "b", ".gitignore"), 2<<20))
	for range 2 {
		found := search()
		require.Len(t, found["rows"], 2, "the file that the other rules ignore stays away")
		require.Equal(t, "not applied, because they have more than 1048576 bytes: b/.gitignore", found["note"])
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", folder, "init", "-q").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Truncate(filepath.Join(folder, ".git", "info", "exclude"), 2<<20))
	require.Contains(t, search()["note"], ".git/info/exclude")
}
