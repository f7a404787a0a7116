package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"savant/internal/atomicfile"
)

// Files may hold what tools returned, so also secrets.
const (
	filePermission   fs.FileMode = 0o600
	folderPermission fs.FileMode = 0o700
)

// disk is all that the store needs of a file system. A test can replace it by
// one that fails or loses what was not synced. Names are relative to
// SAVANT_PATH and slash-separated; they cannot leave it.
type disk interface {
	atomicfile.FS
	// Open opens a file with the flags of os.OpenFile.
	Open(name string, flags int) (file, error)
	// Folder opens a folder, from which several files are opened faster.
	Folder(name string) (folder, error)
	Mkdir(name string) error
	Stat(name string) (stat, error)
	// Entries returns what is in a folder, unsorted.
	Entries(folder string) ([]entry, error)
	// Touch sets the time of a file's last change to now.
	Touch(name string) error
	Close() error
}

// opener opens files: a disk, or one of its folders.
type opener interface {
	Open(name string, flags int) (file, error)
}

// folder is an open folder of a disk; names are relative to it.
type folder interface {
	opener
	Close() error
}

// file is an open file of a disk.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Stat() (stat, error)
	// Identity names the file by what no copy of it has; see package ownfolder.
	Identity() string
	// TryLock takes the lock of the file, exclusive or shared, or returns
	// false if another process or handle has it. The lock ends with the handle,
	// so also with the process.
	TryLock(exclusive bool) (bool, error)
	Unlock() error
	Close() error
}

// stat identifies the content of a file without reading it.
type stat struct {
	identity identity
	size     int64
	modified time.Time
}

func (s stat) equals(other stat) bool {
	return s.identity == other.identity && s.size == other.size && s.modified.Equal(other.modified)
}

// entry is a file or folder in a folder.
type entry struct {
	name   string
	folder bool
	stat   stat
}

// namesIn returns the names in a folder, sorted.
func namesIn(target disk, folder string) ([]string, error) {
	entries, err := target.Entries(folder)
	names := make([]string, 0, len(entries))
	for _, each := range entries {
		names = append(names, each.name)
	}
	slices.Sort(names)
	return names, err
}

// identity identifies a file across renames.
type identity struct{ device, inode uint64 }

// openFile opens a file and returns its stat.
func openFile(target opener, name string, flags int) (file, stat, error) {
	opened, err := target.Open(name, flags)
	if err != nil {
		return nil, stat{}, err
	}
	info, err := opened.Stat()
	if err != nil {
		_ = opened.Close() // the first error is the one to report
	}
	return opened, info, err
}

// maxWhole bounds what is read at once: a folder may bring a larger file.
const maxWhole = 2 * maxRecord

// readAll reads a whole file.
func readAll(target disk, name string) ([]byte, error) {
	opened, info, err := openFile(target, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	if info.size > maxWhole {
		return nil, errLarge
	}
	return readRange(opened, 0, info.size)
}

// readHead reads what headOf finds at the start of a file.
func readHead(target disk, name string) (Record, error) {
	opened, info, err := openFile(target, name, os.O_RDONLY)
	if err != nil {
		return Record{}, err
	}
	defer func() { _ = opened.Close() }() // only read
	start, err := readRange(opened, 0, min(info.size, headLength))
	return headOf(start), err
}

// readRange reads the bytes from one offset up to another, or fewer if the file
// was cut meanwhile.
func readRange(source io.ReaderAt, from, to int64) ([]byte, error) {
	return readInto(make([]byte, to-from), source, from, to)
}

// readInto is readRange into a buffer, up to its end.
func readInto(buffer []byte, source io.ReaderAt, from, to int64) ([]byte, error) {
	data := buffer[:min(int64(len(buffer)), to-from)]
	n, err := source.ReadAt(data, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
