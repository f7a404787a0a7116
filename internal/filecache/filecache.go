// Package filecache keeps what was expensive to make in a folder outside of the
// work, where losing it costs time only: below the user's cache folder. What is
// damaged, of another key or not there is the same to a caller: nothing.
package filecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"savant/internal/atomicfile"
)

// Folder is a cache of byte strings by key. The zero Folder keeps nothing. It
// may be used by several goroutines and processes at once.
type Folder struct {
	// path is made when there is something to keep; empty keeps nothing.
	path string
	// limit is how many entries stay; the ones written longest ago go.
	limit int
}

// maxEntry bounds what is read back, in bytes.
const maxEntry = 64 << 20

// Open returns the cache of a name below the user's cache folder, which is
// $XDG_CACHE_HOME/savant or its like on other systems. Where the user has no
// such folder nothing is kept.
func Open(name string, limit int) Folder {
	users, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(users) { // a relative HOME would be a folder of the work
		return Folder{}
	}
	return Folder{filepath.Join(users, "savant", name), limit}
}

// Get returns what was put under a key, or nil.
func (f Folder) Get(key string) []byte {
	if f.path == "" {
		return nil
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil
	}
	defer root.Close()
	name := fileName(key)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxEntry {
		return nil
	}
	entry, err := root.ReadFile(name)
	if err != nil || len(entry) < sha256.Size {
		return nil
	}
	seal, data := entry[:sha256.Size], entry[sha256.Size:]
	if !bytes.Equal(seal, sealOf(key, data)) {
		return nil
	}
	return data
}

// Put keeps data under a key, as far as it can: a cache is not worth an error.
func (f Folder) Put(key string, data []byte) {
	if f.path == "" || len(data) > maxEntry-sha256.Size || os.MkdirAll(f.path, 0o700) != nil {
		return
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return
	}
	defer root.Close()
	if atomicfile.Replace(atomicfile.Root(root), fileName(key), slices.Concat(sealOf(key, data), data), 0o600, atomicfile.Lazy) == nil {
		f.trim(root)
	}
}

// trim removes the entries above the limit.
func (f Folder) trim(root *os.Root) {
	entries, err := os.ReadDir(root.Name())
	if err != nil || len(entries) <= f.limit {
		return
	}
	type aged struct {
		name string
		at   int64
	}
	var all []aged
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			all = append(all, aged{entry.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return int(min(max(a.at-b.at, -1), 1)) })
	for _, old := range all[:max(0, len(all)-f.limit)] {
		_ = root.Remove(old.name)
	}
}

// fileName makes any key a name.
func fileName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// sealOf binds data to its key.
func sealOf(key string, data []byte) []byte {
	hasher := sha256.New()
	keyed := sha256.Sum256([]byte(key))
	hasher.Write(keyed[:])
	hasher.Write(data)
	return hasher.Sum(nil)
}
