package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// tree makes folders and files below a new folder, whose path has no links; a name
// that ends in a slash is a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(filepath.Join(top, name), 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), nil, 0o600))
	}
	return top
}

// TestTheProjectIsFoundUpward: as git finds its repository from anywhere in it.
func TestTheProjectIsFoundUpward(t *testing.T) {
	for name, c := range map[string]struct {
		entries      []string
		in, is, sign string
	}{
		"a repository":                     {[]string{"a/.git/", "a/b/c/"}, "a/b/c", "a", ".git"},
		"a worktree has a file":            {[]string{"a/.git", "a/b/"}, "a/b", "a", ".git"},
		"Savant's folder is nearer":        {[]string{"a/.git/", "a/b/.savant/", "a/b/c/"}, "a/b/c", "a/b", ".savant"},
		"workflows":                        {[]string{"a/workflows/x.yml", "a/b/"}, "a/b", "a", "workflows"},
		"inside the workflows":             {[]string{"a/workflows/x.yaml"}, "a/workflows", "a", "workflows"},
		"workflows of code are not":        {[]string{"a/.git/", "a/src/workflows/x.ts", "a/src/c/"}, "a/src/c", "a", ".git"},
		"those of a service are not":       {[]string{"a/.git/", "a/.github/workflows/ci.yaml", "a/.github/x/"}, "a/.github/x", "a", ".git"},
		"a file named .savant is not":      {[]string{"a/.git/", "a/b/.savant", "a/b/c/"}, "a/b/c", "a", ".git"},
		"the working folder itself":        {[]string{"a/.git/", "a/b/.savant/"}, "a/b", "", ""},
		"nothing":                          {[]string{"a/b/"}, "a/b", "", ""},
		"the home folder is not a project": {[]string{"home/.savant/", "home/b/"}, "home/b", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			top := tree(t, c.entries...)
			t.Setenv("HOME", filepath.Join(top, "home"))
			t.Chdir(filepath.Join(top, c.in))
			loaded, err := settings.Load(from(nil), from(nil), everybody)
			require.NoError(t, err)
			if c.is == "" {
				require.Nil(t, loaded.Found)
				require.Equal(t, "./", loaded.Path)
				return
			}
			require.Equal(t, &settings.Found{Folder: filepath.Join(top, c.is), Sign: c.sign}, loaded.Found)
			same, err := filepath.Abs(loaded.Path)
			require.NoError(t, err)
			require.Equal(t, loaded.Found.Folder, same)
			require.Equal(t, "the nearest folder above with "+c.sign, origins(loaded)[settings.EnvPath])
		})
	}
}

// What is named holds, and the settings of a found project are read.
func TestAFoundProjectHasItsSettings(t *testing.T) {
	top := tree(t, "a/.savant/", "a/config/", "a/b/", "other/")
	require.NoError(t, os.WriteFile(filepath.Join(top, "a/config/settings.json"), []byte(`{"enforce": "required"}`), 0o600))
	t.Chdir(filepath.Join(top, "a/b"))
	loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: ""}), everybody)
	require.NoError(t, err)
	require.Equal(t, "..", loaded.Path)
	require.Equal(t, "required", loaded.Enforce)
	for _, given := range []string{".", filepath.Join(top, "other")} {
		loaded, err = settings.Load(from(nil), from(map[string]string{settings.EnvPath: given}), everybody)
		require.NoError(t, err)
		require.Nil(t, loaded.Found)
		require.Equal(t, given, loaded.Path)
	}
}

// Through a link the parent of the working folder is another than its path says.
func TestAFolderReachedByALink(t *testing.T) {
	top := tree(t, "a/.git/", "a/b/", "links/")
	link := filepath.Join(top, "links", "b")
	if err := os.Symlink(filepath.Join(top, "a", "b"), link); err != nil {
		t.Skip("no links here")
	}
	t.Chdir(link)
	loaded, err := settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, "a"), loaded.Path)
}
