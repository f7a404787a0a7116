package state

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// TestAFolderThatCannotBeReadIsNotEmpty: what refuses to be looked into is an
// error, for it may hold runs. At each call in turn Keys and List return the run or the
// failure.
func TestAFolderThatCannotBeReadIsNotEmpty(t *testing.T) {
	ctx := context.Background()
	for name, look := range map[string]func(*Dir) (int, error){
		"keys": func(d *Dir) (int, error) { keys, err := d.Keys(ctx); return len(keys), err },
		"find": func(d *Dir) (int, error) { keys, err := d.List(ctx, Filter{Run: faultKey.Run}); return len(keys), err },
		"list": func(d *Dir) (int, error) { infos, err := d.List(ctx, Filter{}); return len(infos), err },
	} {
		disk, _ := smallRun(t, faultKey, 1)
		d := openSim(disk)
		disk.calls, disk.trace = 0, nil
		found, err := look(d)
		require.NoError(t, err, name)
		require.Equal(t, 1, found, name)
		for i, call := range slices.Clone(disk.trace) {
			disk.calls, disk.failAt = 0, i+1
			found, err := look(d)
			call = name + " with a failing " + call
			if err != nil {
				require.ErrorIs(t, err, fault.Internal, call)
			} else {
				require.Equal(t, 1, found, call)
			}
		}
	}
}

// TestFilesBesideTheRunsAreNone: a stray file among the folders of the workflows, or
// among the journals under a name that no run can have, is no run and hides none.
func TestFilesBesideTheRunsAreNone(t *testing.T) {
	folder := t.TempDir()
	store, err := Open(folder, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = store.Append(context.Background(), faultKey, smallRecord(1))
	require.NoError(t, err)
	for _, name := range []string{stateFolder + "/stray", runsFolder(faultKey.Workflow) + "/-stray" + journalSuffix} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("{}\n"), filePermission))
	}
	infos, err := store.List(context.Background(), Filter{})
	require.NoError(t, err)
	require.Len(t, infos, 1)
	infos, err = store.List(context.Background(), Filter{Run: faultKey.Run})
	require.NoError(t, err)
	require.Len(t, infos, 1)
}
