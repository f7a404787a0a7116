package regular_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/regular"
)

// Who writes a folder decides what is in it, and what links of it lead to.
func TestWhatAFolderControls(t *testing.T) {
	top := t.TempDir()
	path := func(name string) string { return filepath.Join(top, name) }
	for _, each := range []string{"clone/home/.config", "clone/sub/deep", "own/.config", "clone/.git", "beside"} {
		require.NoError(t, os.MkdirAll(path(each), 0o700))
	}
	for name, target := range map[string]string{"own/into": path("clone/home"), "clone/out": path("own"), "own/through": path("clone/out"), "clonelink": path("clone"),
		"own/relative": "../clone/home/.config", "own/loop": "loop", "own/aside": "../beside"} {
		require.NoError(t, os.Symlink(target, path(name)))
	}
	for name, controlled := range map[string]bool{
		"clone": true, "clone/home": true, "clone/home/.config/savant/trust": true, "clone/new/one": true, "own/into/x": true, "own/relative/x": true,
		"clone/out": true, "clone/out/.config": true, "own/through/.config": true, "clonelink/home": true, "own/loop/x": true,
		"own": false, "own/.config/savant": false, "clone2": false, "own/aside/x": false, "nothing/at/all": false,
	} {
		require.Equal(t, controlled, regular.Controls(path("clone"), path(name)), name)
		require.Equal(t, controlled, regular.Controls(path("clonelink"), path(name)), "the folder by a link: %s", name)
		require.Equal(t, controlled, regular.Controls(path("clone/sub/deep"), path(name)), "a folder of the repository: %s", name)
	}
}

// A program of a folder is not one of the person's, whatever PATH says.
func TestProgramsOfAFolderAreNotFound(t *testing.T) {
	top := t.TempDir()
	clone, own := filepath.Join(top, "clone", "bin"), filepath.Join(top, "own")
	for _, each := range []string{clone, own} {
		require.NoError(t, os.MkdirAll(each, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(each, "git.exe"), []byte("#!/bin/sh\n"), 0o700))
	}
	require.NoError(t, os.Symlink(clone, filepath.Join(top, "link")))
	list := string(filepath.ListSeparator)
	t.Setenv("PATH", clone+list+"."+list+list+"bin"+list+filepath.Join(top, "link")+list+own)
	path := regular.SearchPath("", filepath.Join(top, "clone"))
	require.Equal(t, own, path)
	found, err := regular.Program(path, "git.exe")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(own, "git.exe"), found)
	_, err = regular.Program(path, "another.exe")
	require.ErrorIs(t, err, exec.ErrNotFound)
}
