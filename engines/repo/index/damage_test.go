package index_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
	"savant/fault"
)

// manyFiles fills a folder with files of a word each, and a needle in all.
func manyFiles(t testing.TB, folder string, number int) {
	for i := range number {
		write(t, folder, fmt.Sprintf("d%d/f%d.txt", i%10, i), fmt.Sprintf("needle word%d\n", i))
	}
}

// database returns the file of the only index in a cache folder.
func database(t testing.TB, cache string) string {
	files, err := filepath.Glob(filepath.Join(cache, "*.sqlite"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

// damage overwrites all of an index except its first page.
func damage(t testing.TB, file string) {
	const page = 4096
	info, err := os.Stat(file)
	require.NoError(t, err)
	opened, err := os.OpenFile(file, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = opened.WriteAt(bytes.Repeat([]byte{0xA5}, int(info.Size())-page), page)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
}

// built returns a cache folder with an index of a folder.
func built(t testing.TB, folder string) (cache string) {
	cache = t.TempDir()
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
	require.NoError(t, err)
	refresh(t, ix)
	require.NoError(t, ix.Close())
	return cache
}

// TestASearchThatMeetsDamage checks that a search rebuilds a damaged index and
// succeeds, also in another process that had the damaged one open.
func TestASearchThatMeetsDamage(t *testing.T) {
	folder := t.TempDir()
	manyFiles(t, folder, 200)
	cache := built(t, folder)
	ix, other := open(t, folder, cache), open(t, folder, cache)
	damage(t, database(t, cache))
	for _, each := range []*index.Index{ix, other} {
		rows, err := ask(each, expression("word77"))
		require.NoError(t, err)
		require.Equal(t, []string{"d7/f77.txt"}, paths(rows))
	}
	write(t, folder, "d7/f77.txt", "changed\n")
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, ix, words("changed"))))
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, other, words("changed"))))
	require.Zero(t, refresh(t, other).Updated, "both have the same index")
}

// TestSearchesWhileAnIndexIsRenewed checks that no running search fails.
func TestSearchesWhileAnIndexIsRenewed(t *testing.T) {
	folder := t.TempDir()
	manyFiles(t, folder, 200)
	cache := built(t, folder)
	ix := open(t, folder, cache)
	damage(t, database(t, cache))
	var group sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		group.Go(func() {
			for range 5 {
				if _, err := ix.Refresh(context.Background(), nil); err != nil {
					failed[i] = err
				}
				if _, err := ask(ix, words("needle")); err != nil {
					failed[i] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	require.Len(t, search(t, ix, index.Query{Text: "needle", Limit: 50}), 50)
}

// TestAnIndexThatIsTakenAway removes the cache folder while the index is open.
func TestAnIndexThatIsTakenAway(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	write(t, folder, "a.txt", "needle\n")
	ix := open(t, folder, cache)
	refresh(t, ix)
	require.NoError(t, os.RemoveAll(cache))
	require.Equal(t, []string{"a.txt"}, paths(search(t, ix, words("needle"))))
	require.FileExists(t, database(t, cache))
}

// TestAFullDisk checks that the error names the cause, that the work done is kept, and
// that the next Refresh continues.
func TestAFullDisk(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	write(t, folder, "a.txt", "needle\n")
	ix := open(t, folder, cache)
	refresh(t, ix)
	lift, err := index.LimitSize(ix, 0)
	require.NoError(t, err)
	manyFiles(t, folder, 200)
	_, err = ix.Refresh(context.Background(), nil)
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorContains(t, err, "disk")
	require.ErrorContains(t, err, "full", "the cause")
	require.NotContains(t, strings.ToLower(err.Error()), cache)
	for _, each := range []*index.Index{ix, open(t, folder, cache)} {
		rows, err := ask(each, words("needle"))
		require.NoError(t, err)
		require.Equal(t, []string{"a.txt"}, paths(rows))
	}
	require.NoError(t, lift())
	require.Equal(t, 200, refresh(t, ix).Updated)
}
