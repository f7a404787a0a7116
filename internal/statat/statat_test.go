//go:build unix

package statat_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"savant/internal/statat"
)

// At says what os.Lstat says, and of no name that it is missing.
func TestAt(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sub", "file"), []byte("content"), 0o600))
	require.NoError(t, os.Symlink("sub/file", filepath.Join(folder, "link")))
	top, err := os.Open(folder)
	require.NoError(t, err)
	for name, kind := range map[string]uint32{"sub": unix.S_IFDIR, "sub/file": unix.S_IFREG, "link": unix.S_IFLNK} {
		found, err := statat.At(top, name)
		require.NoError(t, err)
		require.Equal(t, kind, uint32(found.Mode)&unix.S_IFMT, name)
		want, err := os.Lstat(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, want.Size(), found.Size, name)
		require.Equal(t, want.ModTime().UnixNano(), found.Mtim.Nano(), name)
	}
	_, err = statat.At(top, "sub/none")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = statat.At(top, "sub/file/none")
	require.ErrorIs(t, err, unix.ENOTDIR)
	require.NoError(t, top.Close())
	_, err = statat.At(top, "sub")
	require.ErrorContains(t, err, "closed")
}
