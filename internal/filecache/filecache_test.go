package filecache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/filecache"
)

func open(t *testing.T, limit int) (cache filecache.Folder, folder string) {
	users := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", users)
	t.Setenv("HOME", users)
	cache = filecache.Open("things", limit)
	root, err := os.UserCacheDir()
	require.NoError(t, err)
	return cache, filepath.Join(root, "savant", "things")
}

func TestWhatWasPutIsFound(t *testing.T) {
	cache, folder := open(t, 8)
	require.Nil(t, cache.Get("a"))
	require.NoDirExists(t, folder, "looking makes nothing")
	cache.Put("a", []byte("one"))
	cache.Put("../b", nil)
	require.Equal(t, "one", string(cache.Get("a")))
	require.NotNil(t, cache.Get("../b"))
	require.Empty(t, cache.Get("../b"))
	require.Nil(t, cache.Get("c"))
	cache.Put("a", []byte("two"))
	require.Equal(t, "two", string(cache.Get("a")))
}

func TestDamageIsAsGoodAsNothing(t *testing.T) {
	cache, folder := open(t, 8)
	cache.Put("a", []byte("content"))
	cache.Put("b", []byte("content"))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	first, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[1], first, 0o600))
	require.False(t, cache.Get("a") != nil && cache.Get("b") != nil, "the entry of another key")
	for at := range first {
		changed := append([]byte(nil), first...)
		changed[at] ^= 1
		require.NoError(t, os.WriteFile(files[0], changed, 0o600))
		require.NoError(t, os.WriteFile(files[1], changed[:at], 0o600))
		require.Nil(t, cache.Get("a"))
		require.Nil(t, cache.Get("b"))
	}
}

func TestTheOldestGo(t *testing.T) {
	cache, folder := open(t, 3)
	for i := range 6 {
		cache.Put(fmt.Sprint(i), []byte("x"))
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(files), 3)
		for _, file := range files { // the next is newer on every file system
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.NoError(t, os.Chtimes(file, time.Time{}, info.ModTime().Add(-time.Minute)))
		}
	}
	require.Nil(t, cache.Get("0"))
	require.NotNil(t, cache.Get("5"))
}

func TestWithoutAFolderNothingIsKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	cache := filecache.Open("things", 8)
	cache.Put("a", []byte("one"))
	require.Nil(t, cache.Get("a"))
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "here")
	filecache.Open("things", 8).Put("a", []byte("one"))
	require.NoDirExists(t, "here")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", file)
	cache = filecache.Open("things", 8)
	cache.Put("a", []byte("one"))
	require.Nil(t, cache.Get("a"))
}

func TestSeveralAtOnce(t *testing.T) {
	cache, _ := open(t, 4)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			key := fmt.Sprint(i % 8)
			cache.Put(key, []byte(key))
			if got := cache.Get(key); got != nil && string(got) != key {
				t.Errorf("%s under %s", got, key)
			}
		})
	}
	all.Wait()
}
