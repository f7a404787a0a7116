package state_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

// TestOpenCollects: a store that stays open removes what a crash left long ago,
// and one that is closed at once leaves everything as it is. The clock is synctest's.
func TestOpenCollects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		runs := filepath.Join(folder, ".savant", "state", "w")
		require.NoError(t, os.MkdirAll(runs, 0o700))
		write := func(name string, age time.Duration) string {
			file := filepath.Join(runs, name)
			require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
			require.NoError(t, os.Chtimes(file, time.Now().Add(-age), time.Now().Add(-age)))
			return file
		}
		left, fresh := write(".a.json.ABCDEFGHIJ.tmp", 2*time.Hour), write(".a.json.BBCDEFGHIJ.tmp", 0)
		store, err := state.Open(folder, state.Options{})
		require.NoError(t, err)
		require.NoError(t, store.Close())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.FileExists(t, left)
		openDir(t, folder)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoFileExists(t, left)
		require.FileExists(t, fresh)
	})
}
