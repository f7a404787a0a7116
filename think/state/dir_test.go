package state_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

func openDir(t testing.TB, folder string) *state.Dir {
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	folder := t.TempDir()
	store := openDir(t, folder)
	key := state.Key{Workflow: "w", Run: "r"}
	made, err := store.Append(context.Background(), key, childRecord(1, 0))
	require.NoError(t, err)
	snapshot := state.Snapshot{Version: 1, Record: made.Hash, State: json.RawMessage(`{}`)}
	require.NoError(t, store.Save(context.Background(), key, "", snapshot))
	require.NoError(t, store.Save(context.Background(), key, "c", snapshot))
	_, err = store.PutArtifact(context.Background(), []byte("value"))
	require.NoError(t, err)
	var files []string
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, ".savant"), func(name string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if entry.IsDir() {
			require.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), name)
			return nil
		}
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
		relative, err := filepath.Rel(folder, name)
		files = append(files, filepath.ToSlash(relative))
		return err
	}))
	require.Equal(t, []string{
		".savant/.gitignore", ".savant/artifacts/sha256/cd/cd42404d52ad55ccfa9aca4adc828aa5800ad9d385a0671fbcbf724118320619",
		".savant/heads/w/r", ".savant/state/w/r.checkpoints/c.json", ".savant/state/w/r.journal", ".savant/state/w/r.json", ".savant/state/w.json",
	}, files)
}

// TestLinksDoNotLeaveTheFolder: a link planted in the folder leads nowhere.
func TestLinksDoNotLeaveTheFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, ".savant", "state"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, ".savant", "state", "w")))
	store := openDir(t, folder)
	_, err := store.Append(context.Background(), state.Key{Workflow: "w", Run: "r"}, childRecord(1, 0))
	require.ErrorIs(t, err, fault.StateNotSaved)
	require.NotContains(t, err.Error(), outside)
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestTheFolderGoesAndComesBack: a store whose files were removed while it was
// open says so, and begins anew.
func TestTheFolderGoesAndComesBack(t *testing.T) {
	folder := t.TempDir()
	createRuns(t, folder, []string{"a"})
	store := openDir(t, folder)
	key := state.Key{Workflow: "w", Run: "a"}
	_, err := store.Append(context.Background(), key, childRecord(2, 0))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(folder, ".savant")))
	_, err = store.Append(context.Background(), key, childRecord(3, 0))
	require.ErrorIs(t, err, fault.UnknownRun)
	_, _, err = store.Head(context.Background(), key)
	require.ErrorIs(t, err, fault.UnknownRun)
	_, err = store.Append(context.Background(), key, childRecord(1, 0))
	require.NoError(t, err)
	_, err = store.Append(context.Background(), key, childRecord(2, 0))
	require.NoError(t, err)
}

func TestOpenNeedsTheFolder(t *testing.T) {
	_, err := state.Open(filepath.Join(t.TempDir(), "none"), state.Options{})
	require.ErrorIs(t, err, fault.Internal)
	require.NotContains(t, err.Error(), t.TempDir())
	folder := t.TempDir()
	openDir(t, folder)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "opening writes nothing")
}
