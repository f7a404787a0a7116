package access_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/access"
)

func TestAQuestionCountsOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "questions")
	one, other := access.Questions{Folder: folder, Project: "/a"}, access.Questions{Folder: folder, Project: "/b"}
	take := func(q access.Questions, question string, within time.Duration) bool {
		taken, err := q.Take(t.Context(), question, within)
		require.NoError(t, err)
		return taken
	}
	require.False(t, take(one, "x", time.Hour), "it was never asked")
	require.NoError(t, one.Asked(t.Context(), "x"))
	require.False(t, take(other, "x", time.Hour), "another folder asked it")
	require.False(t, take(one, "y", time.Hour))
	require.True(t, take(one, "x", time.Hour))
	require.False(t, take(one, "x", time.Hour))

	require.NoError(t, one.Asked(t.Context(), "many"))
	var all sync.WaitGroup
	var won atomic.Int32
	for range 20 {
		all.Go(func() {
			if taken, err := one.Take(t.Context(), "many", time.Hour); err == nil && taken {
				won.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, won.Load())

	require.NoError(t, one.Asked(t.Context(), "late"))
	require.NoError(t, one.Asked(t.Context(), "forgotten"))
	notes, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, notes, 2)
	for _, each := range notes {
		info, err := os.Stat(each)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		past := time.Now().Add(-25 * time.Hour)
		require.NoError(t, os.Chtimes(each, past, past))
	}
	require.False(t, take(one, "late", 15*time.Minute))
	require.NoError(t, one.Asked(t.Context(), "new"))
	notes, err = filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, notes, 1, "what nobody answered is removed")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	require.ErrorIs(t, access.Questions{Folder: filepath.Join(folder, "file")}.Asked(t.Context(), "x"), fault.StateNotSaved)

	full := access.Questions{Folder: t.TempDir()}
	for i := range 10_000 {
		require.NoError(t, os.WriteFile(filepath.Join(full.Folder, strconv.Itoa(i)), nil, 0o600))
	}
	require.ErrorIs(t, full.Asked(t.Context(), "x"), fault.StateNotSaved, "a client that asks on and on fills no disk")
}
