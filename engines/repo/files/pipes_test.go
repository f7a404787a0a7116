//go:build unix

package files

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/withheld"
)

// TestNoPipeMakesAListingWait puts pipes in the place of files with ignore rules.
func TestNoPipeMakesAListingWait(t *testing.T) {
	for _, name := range []string{".gitignore", "sub/.gitignore", ".git/info/exclude", ".git/config", ".git/HEAD", ".git/index", ".git/commondir"} {
		folder := t.TempDir()
		out, err := exec.Command("git", "init", "-q", "--template=", folder).CombinedOutput()
		require.NoError(t, err, string(out))
		write(t, folder, "a.txt", "text\n")
		write(t, folder, "sub/b.txt", "text\n")
		at := filepath.Join(folder, name)
		_ = os.Remove(at)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, syscall.Mkfifo(at, 0o644))
		listing, err := List(t.Context(), folder, withheld.Files{})
		require.NoError(t, err, name)
		require.Subset(t, listing.Files, []string{"a.txt", "sub/b.txt"}, name)
		tree := NewTree(folder, withheld.Files{})
		_, err = tree.Look(t.Context())
		require.NoError(t, err, name)
		require.NoError(t, tree.Close())
	}
}
