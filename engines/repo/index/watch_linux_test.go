package index_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// watched returns an index that relies on the kernel's events.
func watched(t testing.TB, folder string) *index.Index {
	ix := open(t, folder, t.TempDir())
	settle(t, ix)
	return ix
}

// settle refreshes until all stamps and the kernel's events are trusted.
func settle(t testing.TB, ix *index.Index) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for refresh(t, ix); !index.Tree(ix).Watching() || !index.Current(ix); refresh(t, ix) {
		require.True(t, time.Now().Before(deadline), "the folder is never trusted")
		time.Sleep(10 * time.Millisecond)
	}
}

// TestWhatIsHeard checks each way to change a file that does not change its folder, and
// changes of folders.
func TestWhatIsHeard(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	write(t, folder, "a/one.txt", "needle\n")
	write(t, folder, "b/two.txt", "needle\n")
	write(t, outside, "linked.txt", "other\n")
	require.NoError(t, os.Link(filepath.Join(outside, "linked.txt"), filepath.Join(folder, "linked.txt")))
	ix := watched(t, folder)
	for _, step := range []struct {
		name     string
		change   func()
		expected []string
	}{
		{"nothing", func() {}, []string{"a/one.txt", "b/two.txt"}},
		{"written", func() { write(t, folder, "a/one.txt", "other\n") }, []string{"b/two.txt"}},
		{"written again", func() { write(t, folder, "a/one.txt", "a needle\n") }, []string{"a/one.txt", "b/two.txt"}},
		{"written under its other name", func() { write(t, outside, "linked.txt", "needle\n") }, []string{"a/one.txt", "b/two.txt", "linked.txt"}},
		{"and again", func() { write(t, outside, "linked.txt", "other\n") }, []string{"a/one.txt", "b/two.txt"}},
		{"made", func() { write(t, folder, "a/three.txt", "needle\n") }, []string{"a/one.txt", "a/three.txt", "b/two.txt"}},
		{"moved over", func() { rename(t, folder, "b/two.txt", "a/one.txt") }, []string{"a/three.txt", "a/one.txt"}},
		{"folders change names", func() { rename(t, folder, "a", "c"); rename(t, folder, "b", "a"); rename(t, folder, "c", "b") }, []string{"b/one.txt", "b/three.txt"}},
		{"written after that", func() { write(t, folder, "b/one.txt", "other\n"); write(t, folder, "a/one.txt", "needle\n") }, []string{"a/one.txt", "b/three.txt"}},
		{"ruled out", func() { write(t, folder, ".gitignore", "one.txt\n") }, []string{"b/three.txt"}},
		{"a new tree", func() { write(t, folder, "d/e/f.txt", "other\n") }, []string{"b/three.txt"}},
		{"written in it", func() { write(t, folder, "d/e/f.txt", "needle\n") }, []string{"b/three.txt", "d/e/f.txt"}},
		{"removed", func() { require.NoError(t, os.RemoveAll(filepath.Join(folder, "b"))) }, []string{"d/e/f.txt"}},
	} {
		settle(t, ix)
		step.change()
		require.ElementsMatch(t, step.expected, paths(search(t, ix, words("needle"))), step.name)
	}
}

func rename(t testing.TB, folder, from, to string) {
	t.Helper()
	require.NoError(t, os.Rename(filepath.Join(folder, from), filepath.Join(folder, to)))
}

// TestWhatTheKernelLoses checks that all files are checked after the kernel lost
// events.
func TestWhatTheKernelLoses(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "old/x.txt", "older/x.txt"} {
		write(t, folder, name, "text\n")
	}
	ix := watched(t, folder)
	for range 9_000 { // more than 16,384 events, each unlike the one before
		require.NoError(t, os.Chtimes(filepath.Join(folder, "a.txt"), time.Time{}, time.Now()))
		require.NoError(t, os.Chtimes(filepath.Join(folder, "b.txt"), time.Time{}, time.Now()))
	}
	write(t, folder, "c.txt", "needle\n")
	rename(t, folder, "old", "new")
	rename(t, folder, "older", "old")
	rename(t, folder, "new", "older")
	require.Equal(t, []string{"c.txt"}, paths(search(t, ix, words("needle"))))
	write(t, folder, "old/x.txt", "needle\n")
	require.ElementsMatch(t, []string{"c.txt", "old/x.txt"}, paths(search(t, ix, words("needle"))))
}

// TestWrittenThroughMemory checks a change through a memory map, which the kernel
// reports only when the file is closed.
func TestWrittenThroughMemory(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.txt", "nothing\n")
	ix := watched(t, folder)
	opened, err := os.OpenFile(filepath.Join(folder, "a.txt"), os.O_RDWR, 0)
	require.NoError(t, err)
	memory, err := syscall.Mmap(int(opened.Fd()), 0, 7, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	copy(memory, "needle!")
	require.NoError(t, syscall.Munmap(memory))
	require.Equal(t, []string{"a.txt"}, paths(search(t, ix, words("needle"))))
}
