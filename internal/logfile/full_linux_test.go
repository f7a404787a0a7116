package logfile_test

import (
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line that a full disk cut costs no other one: the next one begins a line.
func TestALineThatWasCutIsEnded(t *testing.T) {
	file, folder, _ := open(t, 1000)
	add(t, file, "whole\n")
	signal.Ignore(syscall.SIGXFSZ)
	t.Cleanup(func() { signal.Reset(syscall.SIGXFSZ) })
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8, Max: before.Max}))
	_, err := file.Append([]byte("torn\n"))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	require.ErrorIs(t, err, syscall.EFBIG)
	add(t, file, "next\n")
	require.Equal(t, "whole\nto\nnext\n", read(t, folder, "logs/a.log"))
}
