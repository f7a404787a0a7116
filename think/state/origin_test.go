package state

import (
	"os"
	"path/filepath"
	"strings"
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
		require.GreaterOrEqual(t, elsewhere(folder), 3, "%s: what follows was written here", what)
	}
}

// TestNothingIsWrittenThroughALink: a file of a run that a clone brings as a link leaves what
// it leads to as it was, and holds up nothing.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	folder := t.TempDir()
	victim := filepath.Join(folder, "main.go")
	require.NoError(t, os.WriteFile(victim, []byte("package main"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, headFolder, faultKey.Workflow), 0o700))
	require.NoError(t, os.Symlink("../../../main.go", filepath.Join(folder, headName(faultKey))))
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	for version := 1; version <= 2; version++ {
		_, err = d.Append(t.Context(), faultKey, smallRecord(version))
		require.NoError(t, err)
	}
	require.NoError(t, d.Close())
	for _, name := range []string{journalName(Key{"w", "other"}), snapshotName(Key{"w", "third"}), latestName("v")} {
		require.NoError(t, os.Symlink(filepath.Join(strings.Repeat("../", strings.Count(name, "/")), "main.go"), filepath.Join(folder, name)))
	}
	d, err = Open(folder, Options{})
	require.NoError(t, err)
	first := smallRecord(1)
	_, err = d.Append(t.Context(), Key{"w", "other"}, first)
	require.Error(t, err)
	_, err = d.Records(t.Context(), Key{"w", "other"}, 0, 0)
	require.Error(t, err)
	_, err = d.Append(t.Context(), Key{"w", "third"}, first)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "package main", string(text))
}
