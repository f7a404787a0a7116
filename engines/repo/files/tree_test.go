package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/withheld"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	full := filepath.Join(folder, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
}

// aged gives the files of a folder times that are old enough not to be racy.
func aged(t *testing.T, tree *Tree) {
	t.Helper()
	for range 500 {
		_, err := tree.Look(t.Context())
		require.NoError(t, err)
		if tree.State() != nil {
			return
		}
		time.Sleep(30 * time.Millisecond) // stamps are racy until the clock has ticked
	}
	t.Fatal("the listing is never trusted")
}

// TestEventsAreNotTrustedForever checks that all files are checked again after a while,
// and that watching continues.
func TestEventsAreNotTrustedForever(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.txt", "text\n")
	tree := NewTree(folder, withheld.Files{})
	defer tree.Close()
	aged(t, tree)
	_, err := tree.Look(t.Context())
	require.NoError(t, err)
	if !tree.Watching() {
		t.Skip("NO WATCH ON THIS SYSTEM")
	}
	tree.watched.trustedFrom = time.Now().Add(-2 * trustedFor)
	changed, err := tree.Look(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
	require.True(t, tree.Watching())
	write(t, folder, "a.txt", "other\n")
	changed, err = tree.Look(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
}

// TestRestore checks that a State lets the next process use the listing as long as no
// source of it changed.
func TestRestore(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.txt", "text\n")
	write(t, folder, "deep/b.txt", "text\n")
	first := NewTree(folder, withheld.Files{})
	defer first.Close()
	aged(t, first)
	next := func(state []byte) *Tree {
		tree := NewTree(folder, withheld.Files{})
		tree.Restore(state, first.Names())
		_, err := tree.Look(t.Context())
		require.NoError(t, err)
		require.NoError(t, tree.Close())
		return tree
	}
	state := first.State()
	restored := next(state)
	require.Equal(t, first.Names(), restored.Names())
	require.True(t, first.ListedAt().Equal(restored.ListedAt()), "it was not listed again")
	require.False(t, first.ListedAt().Equal(next(state[:len(state)/2]).ListedAt()), "a damaged state is ignored")
	write(t, folder, "deep/c.txt", "text\n")
	restored = next(state)
	require.Equal(t, []string{"a.txt", "deep/b.txt", "deep/c.txt"}, restored.Names())
}
