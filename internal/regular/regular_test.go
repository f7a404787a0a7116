//go:build unix

package regular_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/regular"
)

func TestOnlyFilesAreOpened(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), []byte("text"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	listener, err := net.Listen("unix", filepath.Join(folder, "socket"))
	require.NoError(t, err)
	defer listener.Close()

	data, err := regular.ReadFile(root, "file", 100)
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	_, err = regular.ReadFile(root, "file", 3)
	require.ErrorIs(t, err, regular.ErrTooLarge)
	_, err = regular.ReadFile(root, "file", 4)
	require.NoError(t, err)
	for _, flags := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE | os.O_APPEND} {
		for _, name := range []string{"pipe", "socket"} {
			_, err = regular.Open(root, name, flags, 0o600)
			require.ErrorIs(t, err, regular.ErrIrregular, name)
		}
		_, err = regular.Open(root, "folder", flags, 0o600)
		require.ErrorIs(t, err, syscall.EISDIR)
	}
	for _, name := range []string{"pipe", "socket", "file"} {
		_, err = regular.ReadDir(root, name)
		require.ErrorIs(t, err, syscall.ENOTDIR, name)
	}
	entries, err := regular.ReadDir(root, ".")
	require.NoError(t, err)
	require.Equal(t, "file", entries[0].Name())
	_, err = regular.OpenPath(filepath.Join(folder, "pipe"))
	require.ErrorIs(t, err, regular.ErrIrregular)
	_, err = regular.OpenPath("/dev/zero")
	require.ErrorIs(t, err, regular.ErrIrregular)
	_, err = regular.Open(root, "nothing", os.O_RDONLY, 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	made, err := regular.Open(root, "new", os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, made.Close())
}
