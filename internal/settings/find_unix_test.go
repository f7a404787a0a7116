//go:build unix

package settings_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// Who puts a .savant in a folder that all may write to is not who runs the program.
func TestAProjectOfSomebodyElseIsNotTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	top := tree(t, "shared/.savant/", "shared/mine/", ".git/")
	require.NoError(t, os.Chown(filepath.Join(top, "shared/.savant"), 4242, 4242))
	t.Chdir(filepath.Join(top, "shared/mine"))
	loaded, err := settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, &settings.Found{Folder: top, Sign: ".git"}, loaded.Found)

	require.NoError(t, os.Chown(filepath.Join(top, "shared/mine"), 4242, 4242))
	loaded, err = settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, "shared"), loaded.Found.Folder, "one's own choice to be there")
}

// A link counts as its maker's, whoever has what it leads to; so does the folder that it is
// in, and one where everybody may write is nobody's. What is broken is no project.
func TestAProjectThatOthersCanMakeIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(t *testing.T, shared string)
		taken bool
	}{
		"a folder of one's own": {func(t *testing.T, shared string) { require.NoError(t, os.Mkdir(shared+"/.savant", 0o700)) }, true},
		"one's own link":        {func(t *testing.T, shared string) { require.NoError(t, os.Symlink("mine", shared+"/.savant")) }, true},
		"another's link": {func(t *testing.T, shared string) {
			require.NoError(t, os.Symlink("mine", shared+"/.savant"))
			lchown(t, shared+"/.savant")
		}, false},
		"another's link of git": {func(t *testing.T, shared string) {
			require.NoError(t, os.Symlink("mine", shared+"/.git"))
			lchown(t, shared+"/.git")
		}, false},
		"another's link of workflows": {func(t *testing.T, shared string) {
			require.NoError(t, os.WriteFile(shared+"/mine/x.yaml", nil, 0o600))
			require.NoError(t, os.Symlink("mine", shared+"/workflows"))
			lchown(t, shared+"/workflows")
		}, false},
		"a link to another's folder": {func(t *testing.T, shared string) {
			require.NoError(t, os.Mkdir(shared+"/theirs", 0o700))
			lchown(t, shared+"/theirs")
			require.NoError(t, os.Symlink("theirs", shared+"/.savant"))
		}, false},
		"another's folder around it": {func(t *testing.T, shared string) {
			require.NoError(t, os.Mkdir(shared+"/.savant", 0o700))
			lchown(t, shared)
		}, false},
		"one's group may write, as umask 002 has it": {func(t *testing.T, shared string) {
			require.NoError(t, os.Mkdir(shared+"/.savant", 0o700))
			require.NoError(t, os.Chmod(shared, 0o775))
			require.NoError(t, os.Chmod(shared+"/.savant", 0o775))
		}, true},
		"another of one's group put it there": {func(t *testing.T, shared string) {
			require.NoError(t, os.Chmod(shared, 0o775))
			require.NoError(t, os.Mkdir(shared+"/.savant", 0o775))
			lchown(t, shared+"/.savant")
		}, false},
		"everybody may write": {func(t *testing.T, shared string) {
			require.NoError(t, os.Mkdir(shared+"/.savant", 0o700))
			require.NoError(t, os.Chmod(shared, 0o777|os.ModeSticky))
		}, false},
		"everybody may write in it": {func(t *testing.T, shared string) {
			require.NoError(t, os.Mkdir(shared+"/.savant", 0o700))
			require.NoError(t, os.Chmod(shared+"/.savant", 0o777))
		}, false},
		"a link out":        {func(t *testing.T, shared string) { require.NoError(t, os.Symlink(t.TempDir(), shared+"/.savant")) }, false},
		"a link to nowhere": {func(t *testing.T, shared string) { require.NoError(t, os.Symlink("nowhere", shared+"/.savant")) }, false},
		"a loop":            {func(t *testing.T, shared string) { require.NoError(t, os.Symlink(".savant", shared+"/.savant")) }, false},
		"a pipe":            {func(t *testing.T, shared string) { require.NoError(t, syscall.Mkfifo(shared+"/.git", 0o600)) }, false},
		"another's, beside one's own": {func(t *testing.T, shared string) {
			require.NoError(t, os.Symlink("mine", shared+"/.savant"))
			lchown(t, shared+"/.savant")
			require.NoError(t, os.Mkdir(shared+"/.git", 0o700))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			top := tree(t, "shared/mine/", ".git/")
			c.plant(t, filepath.Join(top, "shared"))
			expected := top
			if c.taken {
				expected = filepath.Join(top, "shared")
			}
			require.Equal(t, expected, settings.FindFrom(filepath.Join(top, "shared", "mine")).Folder)
		})
	}
}

// lchown gives an entry to another user.
func lchown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	require.NoError(t, os.Lchown(path, 4242, 4242))
}
