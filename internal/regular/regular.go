// Package regular opens files in places where others may write. Opening never blocks,
// and a pipe, a device or a socket is an error, since reading one could block forever.
package regular

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrIrregular is the cause of the error for a pipe, a device or a socket.
var ErrIrregular = errors.New("not a regular file")

// Open opens a file below a root, as os.Root.OpenFile does. A folder is an EISDIR
// error. Nothing is opened for writing through a link: what it leads to, such as a hook of
// git, is not Savant's.
func Open(root *os.Root, name string, flags int, permission fs.FileMode) (*os.File, error) {
	if flags&(os.O_WRONLY|os.O_RDWR) != 0 {
		return OpenUnlinked(root, name, flags, permission)
	}
	return checked(name, func() (*os.File, error) { return root.OpenFile(name, flags|nonblocking, permission) })
}

// OpenUnlinked is Open of a file that is Savant's own: a link in its place is not followed,
// for reading neither.
func OpenUnlinked(root *os.Root, name string, flags int, permission fs.FileMode) (*os.File, error) {
	return checked(name, func() (*os.File, error) { return openUnlinked(root, name, flags, permission) })
}

// OpenPath opens a file that a person names, for reading.
func OpenPath(name string) (*os.File, error) {
	return checked(name, func() (*os.File, error) { return os.OpenFile(name, os.O_RDONLY|nonblocking, 0) })
}

// OpenFolder is os.OpenRoot, which would wait at a pipe: that is an ENOTDIR error.
func OpenFolder(name string) (*os.Root, error) { return folder(os.Stat, os.OpenRoot, name) }

// OpenBelow is OpenFolder for a folder below a root.
func OpenBelow(root *os.Root, name string) (*os.Root, error) {
	return folder(root.Stat, root.OpenRoot, name)
}

func folder(stat func(string) (fs.FileInfo, error), open func(string) (*os.Root, error), name string) (*os.Root, error) {
	if info, err := stat(name); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return open(name)
}

func checked(name string, open func() (*os.File, error)) (*os.File, error) {
	file, err := open()
	if errors.Is(err, syscall.ENXIO) { // a socket, or a pipe without a reader
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err == nil && info.Mode().IsRegular():
		return file, nil
	case err == nil && info.IsDir():
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case err == nil:
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return nil, errors.Join(err, file.Close())
}

// ErrTooLarge is the cause of the error for a file that is larger than what is read.
var ErrTooLarge = errors.New("the file is too large")

// ReadFile reads a whole file below a root. Its size is checked first.
func ReadFile(root *os.Root, name string, limit int64) ([]byte, error) {
	return whole(name, limit, func() (fs.File, error) { return Open(root, name, os.O_RDONLY, 0) })
}

// ReadPath is ReadFile for a file that a person names.
func ReadPath(name string, limit int64) ([]byte, error) {
	return whole(name, limit, func() (fs.File, error) { return OpenPath(name) })
}

// ReadFS is ReadFile for a file system.
func ReadFS(files fs.FS, name string, limit int64) ([]byte, error) {
	if info, err := fs.Stat(files, name); err != nil || !info.Mode().IsRegular() { // opening a pipe would block
		return nil, cmp.Or(err, error(&fs.PathError{Op: "open", Path: name, Err: ErrIrregular}))
	}
	return whole(name, limit, func() (fs.File, error) { return files.Open(name) })
}

func whole(name string, limit int64, open func() (fs.File, error)) (data []byte, err error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err == nil && info.Size() > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit { // it grew
		err = &fs.PathError{Op: "read", Path: name, Err: ErrTooLarge}
	}
	return data, err
}

// ReadDir lists a folder below a root, sorted by name. Anything else is an ENOTDIR
// error.
func ReadDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	folder, err := root.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only read
	entries, err := folder.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Relative returns a path below a folder; the path itself if it has none.
func Relative(folder, path string) string {
	if below, err := filepath.Rel(folder, path); err == nil {
		return below
	}
	return path
}

// Glob is fs.Glob, which would wait at a pipe in the place of a folder.
func Glob(files fs.FS, pattern string) ([]string, error) { return fs.Glob(folders{files}, pattern) }

type folders struct{ fs.FS }

// Stat implements fs.StatFS: to open a pipe would wait, too.
func (f folders) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (f folders) ReadDir(name string) ([]fs.DirEntry, error) {
	if info, err := fs.Stat(f.FS, name); err != nil || !info.IsDir() {
		return nil, cmp.Or(err, error(&fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}))
	}
	return fs.ReadDir(f.FS, name)
}
