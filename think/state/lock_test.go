//go:build unix

package state_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"savant/fault"
	"savant/think/state"
)

// TestWaitingForALockEnds: who waits for a journal that another process holds
// gives up with its context, and goes on when the lock is free.
func TestWaitingForALockEnds(t *testing.T) {
	folder := t.TempDir()
	createRuns(t, folder, []string{"a"})
	store := openDir(t, folder)
	key := state.Key{Workflow: "w", Run: "a"}
	holder, err := os.Open(filepath.Join(folder, ".savant", "state", "w", "a.journal"))
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(holder.Fd()), unix.LOCK_EX))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := store.Append(ctx, key, childRecord(2, 0))
		ended <- err
	}()
	go func() {
		_, err := store.Append(ctx, key, childRecord(2, 0)) // waits within the process
		ended <- err
	}()
	cancel()
	for range 2 {
		err = <-ended
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, fault.Internal)
	}
	require.NoError(t, holder.Close())
	_, err = store.Append(context.Background(), key, childRecord(2, 0))
	require.NoError(t, err)
}
