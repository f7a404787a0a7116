// Package index is full-text search over the files of a folder. An SQLite FTS5
// table in the user's cache folder says which files have a term. Each query reads
// lines and snippets from the files, so they are never stale.
package index

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/internal/withheld"
)

// Options say what is indexed and where the index is.
type Options struct {
	// Folder is what is indexed. It must exist.
	Folder string
	// CacheFolder holds the indexes. If it is empty, it is savant/index in the
	// user's cache folder.
	CacheFolder string
	// Withheld are the files that are neither indexed nor found.
	Withheld withheld.Files
}

// Index is the index of one folder. Several goroutines may use it at once, and
// several processes may have an Index of the same folder.
type Index struct {
	folder, file string
	root         *os.Root
	readers      sync.Pool // of *reader

	// refreshing is a lock: only its holder uses tree, saved and current.
	refreshing chan struct{}
	tree       *files.Tree
	kept       withheld.Files
	saved      time.Time // when the listing in the database was made
	current    bool      // the index agrees with the tree

	mutex   sync.RWMutex // guards the fields below; held for reading while db is read
	db      *sql.DB      // nil if it was damaged and could not be renewed
	opened  os.FileInfo  // of the file that db has open
	catalog *catalog
	unseen  view // what the last look at the folder could not read
}

// Open opens the index of a folder; Refresh fills it. It replaces an index that is
// damaged or of another version. Errors are TOOL_FAILED: the folder cannot be read
// (a files.FolderError), or the cache folder cannot be used.
func Open(ctx context.Context, options Options) (*Index, error) {
	folder, err := resolved(options.Folder)
	if err != nil {
		return nil, err
	}
	file, err := place(options.CacheFolder, folder)
	if err != nil {
		return nil, err
	}
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return nil, files.NotRead(err)
	}
	ix := &Index{folder: folder, file: file, root: root, refreshing: make(chan struct{}, 1),
		tree: files.NewTree(folder, options.Withheld), kept: options.Withheld, readers: sync.Pool{New: newReader}}
	err = ix.load(ctx)
	if isStale(err) {
		err = ix.renew(ctx)
	}
	if err == nil {
		err = ix.name()
	}
	if err != nil {
		return nil, errors.Join(coded(err), root.Close())
	}
	return ix, nil
}

func resolved(folder string) (string, error) {
	full, err := filepath.Abs(folder)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return "", files.NotRead(err)
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return "", files.NotRead(err)
	}
	return full, nil
}

// NoUsersCache reports whether the user has no cache folder, for example because
// HOME is not set. An unusable XDG_CACHE_HOME is an error of Open instead.
func NoUsersCache() bool {
	_, err := os.UserCacheDir()
	return err != nil && os.Getenv("XDG_CACHE_HOME") == ""
}

// UsersCache returns the folder of indexes in the user's cache folder; "" if there is none,
// or none with an absolute path: a relative HOME is in the working folder.
func UsersCache() string {
	users, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(users) {
		return ""
	}
	return filepath.Join(users, "savant", "index")
}

// place returns the file of a folder's index.
func place(cache, folder string) (string, error) {
	if cache == "" {
		if cache = UsersCache(); cache == "" {
			return "", fault.New(fault.ToolFailed, "there is no cache folder for the index: %s", otherCache())
		}
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fault.New(fault.ToolFailed, "the cache folder of the index cannot be created: %w; %s", fault.WithoutPath(err), otherCache())
	}
	return filepath.Join(cache, jsonvalue.HexSum([]byte(folder))[:32]+"-v2.sqlite"), nil
}

// otherCache says how to choose another cache folder, see os.UserCacheDir.
func otherCache() string {
	variable := "XDG_CACHE_HOME"
	switch runtime.GOOS {
	case "windows":
		variable = "LocalAppData"
	case "darwin", "ios":
		variable = "HOME"
	}
	return "set " + variable + " to the absolute path of a writable folder"
}

// Close closes the index. No other call may be running.
func (ix *Index) Close() error {
	var failed error
	if ix.db != nil {
		failed = ix.db.Close()
	}
	return errors.Join(failed, ix.root.Close(), ix.tree.Close())
}
