package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecordsThatCameWithTheFolder: a clone or a copy of a folder brings journals, whose
// approvals were not given here, and whatever says that they were.
func TestRecordsThatCameWithTheFolder(t *testing.T) {
	from := t.TempDir()
	write := func(folder string, versions ...int) {
		t.Helper()
		d, err := Open(folder, Options{})
		require.NoError(t, err)
		for _, version := range versions {
			_, err := d.Append(t.Context(), faultKey, smallRecord(version))
			require.NoError(t, err)
		}
		require.NoError(t, d.Close())
	}
	elsewhere := func(folder string) int {
		t.Helper()
		d, err := Open(folder, Options{})
		require.NoError(t, err)
		defer d.Close()
		version, err := d.Imported(t.Context(), faultKey)
		require.NoError(t, err)
		return version
	}
	write(from, 1, 2)
	write(from, 3)
	require.Zero(t, elsewhere(from), "the twin: it was made here, by two processes")
	require.NoError(t, os.Rename(from, from+"-moved"))
	require.Zero(t, elsewhere(from+"-moved"), "a folder that was moved is the same")

	for what, change := range map[string]func(folder string) error{
		"as it is":      func(string) error { return nil },
		"without heads": func(folder string) error { return os.RemoveAll(filepath.Join(folder, headFolder)) },
		"with a mark of less": func(folder string) error {
			d, err := Open(folder, Options{})
			require.NoError(t, err)
			records, err := d.Records(t.Context(), faultKey, 0, 1)
			require.NoError(t, err)
			require.NoError(t, d.MarkImported(t.Context(), faultKey, Link{1, records[0].Hash}))
			return d.Close()
		},
		"a head of gigabytes": func(folder string) error { return os.Truncate(filepath.Join(folder, headName(faultKey)), 3<<30) },
		"a head that is a link": func(folder string) error {
			name := filepath.Join(folder, headName(faultKey))
			require.NoError(t, os.Rename(name, name+"-other"))
			return os.Symlink(filepath.Base(name)+"-other", name)
		},
	} {
		folder := t.TempDir()
		require.NoError(t, os.CopyFS(folder, os.DirFS(from+"-moved")))
		require.NoError(t, change(folder))
		require.Equal(t, 3, elsewhere(folder), what)
		write(folder, 4)
		write(folder, 5)
		require.Equal(t, 3, elsewhere(folder), "%s: what follows was written here", what)
	}
}
