// Package logfile writes and rotates log files to which several processes append, such
// as the trace: a file that exceeds its limit is renamed to NAME.1, and a new one
// begins.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"

	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// File is a log file with rotation, created by the first write. Each Append is one
// write to a file opened for appending, so lines are never mixed. A process rotates the
// file under its lock, so that it is rotated once; a line that another process writes
// meanwhile ends the rotated file. A File is not safe for concurrent use.
type File struct {
	root   *os.Root
	name   string // below root, in a folder
	limit  int64
	file   *os.File // nil before the first write
	opened fs.FileInfo
}

// Causes remembers why files cannot be written: one cause, such as a folder that may not be
// written, is told once for all its files. It is safe for concurrent use.
type Causes struct{ told sync.Map }

// First reports whether a cause was not told before.
func (c *Causes) First(cause string) bool {
	_, told := c.told.LoadOrStore(cause, true)
	return !told
}

// New returns a file below root, which is rotated when it exceeds limit bytes.
func New(root *os.Root, name string, limit int64) *File {
	return &File{root: root, name: name, limit: limit}
}

// Name is the path of the file below its root.
func (f *File) Name() string { return f.name }

// Append writes lines, each of which ends in a newline. anew reports that the folder
// had been deleted or moved and was created again.
func (f *File) Append(lines []byte) (anew bool, err error) {
	if len(lines) == 0 {
		return false, nil
	}
	full, anew, err := f.open()
	if err == nil && full {
		err = f.rotate()
	}
	if err == nil {
		if _, err = f.file.Write(lines); err != nil { // the next Append ends a torn line
			err = errors.Join(err, f.Close())
		}
	}
	return anew, err
}

// open opens the file with the name unless it is open already, and reports whether it
// exceeds the limit and whether its folder was missing.
func (f *File) open() (full, anew bool, err error) {
	named, err := f.root.Lstat(f.name)
	if err == nil && f.file != nil && os.SameFile(named, f.opened) {
		return named.Size() > f.limit, false, nil
	}
	wasOpen := f.file != nil
	if err := f.Close(); err != nil {
		return false, false, err
	}
	err = ownfolder.Mkdir(f.root, path.Dir(f.name), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, false, err
	}
	anew = wasOpen && err == nil
	file, err := regular.Open(f.root, f.name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return false, anew, err
	}
	f.file = file
	if f.opened, err = file.Stat(); err != nil {
		return false, anew, err
	}
	return f.opened.Size() > f.limit, anew, f.endLine()
}

// endLine ends a torn line of a killed process. If another process does so at the same
// time, an empty line results.
func (f *File) endLine() error {
	size := f.opened.Size()
	if size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := f.file.ReadAt(last, size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err := f.file.WriteString("\n")
	return err
}

// rotate renames the file to NAME.1, unless another process did so meanwhile.
func (f *File) rotate() error {
	full := f.file
	if free, err := filelock.TryLock(full, true); err != nil || !free {
		return err // another process rotates or holds it: the next Append tries again
	}
	named, err := f.root.Lstat(f.name)
	if err == nil && os.SameFile(named, f.opened) {
		err = f.root.Rename(f.name, f.name+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, filelock.Unlock(full))
	}
	_, _, err = f.open() // closes the rotated file, which releases its lock
	return err
}

// Close closes the file. A later Append opens it again.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
