package state

import (
	"io"
	"io/fs"
	"time"

	"savant/internal/atomicfile"
)

// Files and folders may hold what tools returned: secrets too.
const (
	filePermission   fs.FileMode = 0o600
	folderPermission fs.FileMode = 0o700
)

// disk is all the store asks of a file system, so that a test can put one in
// its place that fails or loses what was not synced. Names are relative to
// SAVANT_PATH and slash-separated; they cannot leave it.
type disk interface {
	atomicfile.FS
	// Open opens a file with the flags of os.OpenFile.
	Open(name string, flags int) (file, error)
	Mkdir(name string) error
	Stat(name string) (stat, error)
	// Names lists a folder, unsorted.
	Names(folder string) ([]string, error)
	// Folder opens a folder as a disk of its own: shorter names are faster.
	Folder(name string) (disk, error)
	Close() error
}

// file is an open file of a disk.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Stat() (stat, error)
	// TryLock takes the lock on the file, exclusive or shared, or returns
	// false where another process or handle has it. It ends with the handle,
	// so also with the process.
	TryLock(exclusive bool) (bool, error)
	Unlock() error
	Close() error
}

// stat tells whether a file is the one seen before.
type stat struct {
	identity identity
	size     int64
	modified time.Time
}

// identity is what a file keeps when it is renamed.
type identity struct{ device, inode uint64 }

// readAll reads a whole file.
func readAll(target disk, name string, flags int) ([]byte, error) {
	opened, err := target.Open(name, flags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	return readRange(opened, 0, info.size)
}

// readRange reads the bytes from one offset up to another.
func readRange(source io.ReaderAt, from, to int64) ([]byte, error) {
	data := make([]byte, to-from)
	n, err := source.ReadAt(data, from)
	if n == len(data) {
		return data, nil
	}
	return nil, err
}
