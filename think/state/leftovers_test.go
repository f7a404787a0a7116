package state_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

// TestOpenSweeps: a store that stays open removes what a crash left long ago,
// and one that is closed at once leaves everything as it is.
func TestOpenSweeps(t *testing.T) {
	folder := t.TempDir()
	createRuns(t, folder, []string{"a"})
	left := filepath.Join(folder, ".savant", "state", "w", ".a.json.ABCDEFGHIJ.tmp")
	require.NoError(t, os.WriteFile(left, []byte("{"), 0o600))
	fresh := filepath.Join(folder, ".savant", "state", "w", ".a.json.BBCDEFGHIJ.tmp")
	require.NoError(t, os.WriteFile(fresh, []byte("{"), 0o600))
	before := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(left, before, before))

	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.FileExists(t, left)
	openDir(t, folder)
	require.Eventually(t, func() bool { _, err := os.Stat(left); return os.IsNotExist(err) }, 30*time.Second, 10*time.Millisecond)
	require.FileExists(t, fresh)
}
