package index_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// process opens an index and searches it, as a short process does. It does not call
// Close, like a killed process; the index must be saved by then.
func process(t testing.TB, folder, cache, query string) (found []string, listed time.Time) {
	ix := opened(t, folder, cache)
	t.Cleanup(func() { require.NoError(t, ix.Close()) })
	return paths(find(t, ix, words(query))), index.Tree(ix).ListedAt()
}

// settled runs processes until the next one need not list the folder again.
func settled(t testing.TB, folder, cache string) (listed time.Time) {
	deadline := time.Now().Add(time.Minute)
	for _, before := process(t, folder, cache, "needle"); ; before = listed {
		require.True(t, time.Now().Before(deadline), "the listing is never trusted")
		if _, listed = process(t, folder, cache, "needle"); listed.Equal(before) {
			return listed
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTheNextProcess checks that a new process does not list an unchanged folder again,
// and that it sees changes.
func TestTheNextProcess(t *testing.T) {
	home, folder, cache := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	inner := filepath.Join(folder, "part")
	for _, name := range []string{"one.txt", "two.txt", "deep/three.txt"} {
		write(t, inner, name, "needle\n")
	}
	write(t, inner, "kept.txt", "always\n")
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	git := func(arguments ...string) {
		require.NoError(t, exec.Command("git", append([]string{"-C", folder}, arguments...)...).Run())
	}
	all := []string{"deep/three.txt", "one.txt", "two.txt"}
	for _, step := range []struct {
		name     string
		change   func()
		expected []string
	}{
		{"written", func() { write(t, inner, "one.txt", "other\n") }, []string{"deep/three.txt", "two.txt"}},
		{"written again", func() { write(t, inner, "one.txt", "needle\n") }, all},
		{"made", func() { write(t, inner, "deep/four.txt", "needle\n") }, append([]string{"deep/four.txt"}, all...)},
		{"removed", func() { require.NoError(t, os.Remove(filepath.Join(inner, "deep/four.txt"))) }, all},
		{"rules above", func() { write(t, folder, ".gitignore", "one.txt\n") }, []string{"deep/three.txt", "two.txt"}},
		{"rules that rule themselves out", func() { write(t, inner, "deep/.gitignore", "*\n") }, []string{"two.txt"}},
		{"and change", func() { write(t, inner, "deep/.gitignore", "none\n.gitignore\n") }, []string{"deep/three.txt", "two.txt"}},
		{"the user's rules", func() { write(t, home, "config/git/ignore", "two.txt\n") }, []string{"deep/three.txt"}},
		{"rules named in a file", func() { git("config", "core.excludesFile", filepath.Join(home, "mine")) }, []string{"deep/three.txt", "two.txt"}},
		{"and changed", func() { write(t, home, "mine", "three.txt\n") }, []string{"two.txt"}},
		{"the repository's own", func() { write(t, folder, ".git/info/exclude", "two.txt\n") }, []string{}},
		{"added all the same", func() { git("add", "-f", "part/two.txt") }, []string{"two.txt"}},
		{"no repository", func() { require.NoError(t, os.RemoveAll(filepath.Join(folder, ".git"))) }, all},
	} {
		settled(t, inner, cache)
		step.change()
		found, _ := process(t, inner, cache, "needle")
		require.ElementsMatch(t, step.expected, found, step.name)
	}
}
