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

// TestWhatIsNoFileIsDamage: a folder, a pipe or a link out of the folder in the place
// of a file of a run is reported like other damage. Nothing blocks on it, nothing is
// read or written through it, and other runs are unchanged.
func TestWhatIsNoFileIsDamage(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("not ours"), 0o600))
	for what, put := range map[string]func(string) error{
		"folder":         func(name string) error { return os.Mkdir(name, 0o700) },
		"pipe":           func(name string) error { return unix.Mkfifo(name, 0o600) },
		"link out":       func(name string) error { return os.Symlink(outside, name) },
		"link nowhere":   func(name string) error { return os.Symlink(outside+"-not", name) },
		"link to itself": func(name string) error { return os.Symlink(filepath.Base(name), name) },
	} {
		t.Run(what, func(t *testing.T) {
			requireOnlyItsRunIsDamaged(t, put)
			text, err := os.ReadFile(outside)
			require.NoError(t, err)
			require.Equal(t, "not ours", string(text))
			require.NoFileExists(t, outside+"-not")
		})
	}
}

func requireOnlyItsRunIsDamaged(t *testing.T, put func(string) error) {
	ctx, folder := context.Background(), t.TempDir()
	createRuns(t, folder, []string{"a", "b", "c"})
	runs := filepath.Join(folder, ".savant", "state", "w")
	require.NoError(t, os.Remove(filepath.Join(runs, "a.journal")))
	require.NoError(t, put(filepath.Join(runs, "a.journal")))
	require.NoError(t, put(filepath.Join(runs, "b.json")))
	store := openDir(t, folder)

	damaged := state.Key{Workflow: "w", Run: "a"}
	_, err := store.Append(ctx, damaged, childRecord(2, 0))
	require.ErrorIs(t, err, fault.StateCorrupt)
	_, err = store.Append(ctx, damaged, childRecord(1, 0))
	require.ErrorIs(t, err, fault.StateCorrupt)
	_, err = store.Records(ctx, damaged, 0, 0)
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, ".savant/state/w/a.journal")
	problems, err := store.Check(ctx, damaged)
	require.NoError(t, err)
	require.True(t, problems[0].Blocking)

	for _, run := range []string{"b", "c"} { // a readable file is passed over
		_, err = store.Append(ctx, state.Key{Workflow: "w", Run: run}, childRecord(2, 0))
		require.NoError(t, err)
	}
	problems, err = store.Check(ctx, state.Key{Workflow: "w", Run: "b"})
	require.NoError(t, err)
	require.False(t, problems[0].Blocking)
	keys, err := store.Keys(ctx)
	require.NoError(t, err)
	require.Len(t, keys, 3)
	infos, err := store.List(ctx, state.Filter{})
	require.NoError(t, err)
	require.Len(t, infos, 3)
}
