//go:build unix

package terminal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReaderThatIsGoneIsSeen(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	require.False(t, HasNoReader(write))
	require.NoError(t, read.Close())
	require.True(t, HasNoReader(write))

	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	socket := os.NewFile(uintptr(pair[0]), "socket")
	defer socket.Close()
	require.False(t, HasNoReader(socket))
	require.NoError(t, syscall.Close(pair[1]))
	require.True(t, HasNoReader(socket))

	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	require.False(t, HasNoReader(file))
	require.NoError(t, file.Close())
	require.False(t, HasNoReader(file))
}
