package files_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/files"
	"savant/internal/gitrun"
	"savant/internal/withheld"
)

// TestLargeRulesAreNotRead: a .gitignore of 200 MB, which takes no space in a clone, is
// passed over, with git and without, in any folder; the others hold.
func TestLargeRulesAreNotRead(t *testing.T) {
	for _, git := range []bool{false, true} {
		for _, large := range []string{".gitignore", "sub/deep/.gitignore", ".savant/.gitignore"} {
			folder := t.TempDir()
			if git {
				require.NoError(t, exec.Command("git", "-C", folder, "init", "-q").Run())
			}
			for name, text := range map[string]string{"sub/deep/a.txt": "a", "other/.gitignore": "*.log\n", "other/b.log": "b", "other/c.txt": "c", large: "x"} {
				name = filepath.Join(folder, filepath.FromSlash(name))
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
				require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
			}
			require.NoError(t, os.Truncate(filepath.Join(folder, filepath.FromSlash(large)), 200<<20))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			listing, err := files.List(t.Context(), folder, withheld.Files{})
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20), large)
			require.False(t, listing.Git, "git would read it")
			require.Contains(t, listing.Files, "sub/deep/a.txt")
			require.Contains(t, listing.Files, "other/c.txt")
			require.NotContains(t, listing.Files, "other/b.log")
			if git || large != ".savant/.gitignore" { // Savant's own folder is not walked
				require.Equal(t, []string{large}, listing.Oversize)
			}
		}
	}
}

// TestRulesOfTheBoundAreRead is the twin: git and the walk read a file of the largest size.
func TestRulesOfTheBoundAreRead(t *testing.T) {
	for _, git := range []bool{false, true} {
		folder := t.TempDir()
		if git {
			require.NoError(t, exec.Command("git", "-C", folder, "init", "-q").Run())
		}
		rules := make([]byte, gitrun.MaxRules)
		for i := range rules {
			rules[i] = '\n'
		}
		copy(rules, "*.log\n")
		require.NoError(t, os.WriteFile(filepath.Join(folder, ".gitignore"), rules, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a.log"), nil, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a.txt"), nil, 0o600))
		listing, err := files.List(t.Context(), folder, withheld.Files{})
		require.NoError(t, err)
		require.Equal(t, git, listing.Git)
		require.Empty(t, listing.Oversize)
		require.Contains(t, listing.Files, "a.txt")
		require.NotContains(t, listing.Files, "a.log")
	}
}
