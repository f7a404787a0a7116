//go:build unix

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/filelock"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func requireLock(t *testing.T, file *os.File, exclusive, want bool) {
	t.Helper()
	got, err := filelock.TryLock(file, exclusive)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestExclusiveAndShared(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	first, second := open(t, name), open(t, name)
	requireLock(t, first, false, true)
	requireLock(t, second, false, true)
	requireLock(t, second, true, false)
	require.NoError(t, filelock.Unlock(first))
	requireLock(t, second, true, true)
	requireLock(t, first, false, false)
	require.NoError(t, second.Close(), "closing releases the lock")
	requireLock(t, first, true, true)
}

func TestWait(t *testing.T) {
	calls := 0
	require.NoError(t, filelock.Wait(t.Context(), func() (bool, error) { calls++; return calls == 3, nil }))
	require.Equal(t, 3, calls)
	refused := errors.New("refused")
	require.ErrorIs(t, filelock.Wait(t.Context(), func() (bool, error) { return false, refused }), refused)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, filelock.Wait(ctx, func() (bool, error) { cancel(); return false, nil }), context.Canceled)
}

func TestAClosedFileIsAnError(t *testing.T) {
	file := open(t, filepath.Join(t.TempDir(), "file"))
	require.NoError(t, file.Close())
	_, err := filelock.TryLock(file, true)
	require.Error(t, err)
}
