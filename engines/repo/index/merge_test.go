package index_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// TestABuildIsMergedAfterwards, by the process that built or by the next, and
// searches find the same before, meanwhile and after.
func TestABuildIsMergedAfterwards(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	manyFiles(t, folder, 1200)
	builder := childCommand(folder, cache) // it ends without waiting for that
	require.NoError(t, builder.Run())

	ix := open(t, folder, cache)
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, ix, words("word77"))))
	whole, err := index.Merged(ix)
	require.NoError(t, err)
	require.True(t, whole)
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, ix, words("word77"))))
	require.Len(t, search(t, ix, index.Query{Text: "needle", Limit: 50}), 50)

	write(t, folder, "d7/f77.txt", "changed\n")
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, ix, words("changed"))))
	require.Empty(t, search(t, ix, words("word77")))
}

// TestClosingWhileMerging: it is stopped, and what was merged is kept.
func TestClosingWhileMerging(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	manyFiles(t, folder, 1200)
	for range 3 {
		ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: cache})
		require.NoError(t, err)
		refresh(t, ix)
		require.NoError(t, ix.Close())
	}
	require.Equal(t, []string{"d7/f77.txt"}, paths(search(t, open(t, folder, cache), words("word77"))))
}
