// Package logfile writes and rotates log files that several processes append to,
// such as the trace file: a file over its limit is moved to NAME.1 and begun anew.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// File is a log file that is rotated, made when there is something to write. Lines are
// part of one write to a file opened for appending, so each stands whole. Who
// moves a full file holds its lock, so that it is moved once; a line that
// another process writes meanwhile is the last of the file that was moved. A
// File is not for several goroutines at once.
type File struct {
	root   *os.Root
	name   string // below root, in a folder
	limit  int64
	file   *os.File // nil until there is something to write
	opened fs.FileInfo
}

// New returns a file below root, which is moved when it has more than limit
// bytes.
func New(root *os.Root, name string, limit int64) *File {
	return &File{root: root, name: name, limit: limit}
}

// Name is the path of the file below its root.
func (f *File) Name() string { return f.name }

// Append writes lines, each of which ends in a new line. anew says that the
// folder was deleted or moved meanwhile, and had to be made again.
func (f *File) Append(lines []byte) (anew bool, err error) {
	if len(lines) == 0 {
		return false, nil
	}
	full, anew, err := f.open()
	if err == nil && full {
		err = f.rotate()
	}
	if err == nil {
		_, err = f.file.Write(lines)
	}
	return anew, err
}

// open makes sure that the open file is the one that has the name, and says
// whether it is over the limit and whether its folder was gone.
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

// endLine ends a torn line, which a killed process did not write whole. Where
// another process is about to end it, an empty line follows.
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

// rotate moves the file to NAME.1, unless another process did so meanwhile.
func (f *File) rotate() error {
	full := f.file
	if free, err := filelock.TryLock(full, true); err != nil || !free {
		return err // another process moves it, or keeps it: the next line tries again
	}
	named, err := f.root.Lstat(f.name)
	if err == nil && os.SameFile(named, f.opened) {
		err = f.root.Rename(f.name, f.name+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, filelock.Unlock(full))
	}
	_, _, err = f.open() // closes the moved one, which ends its lock
	return err
}

// Close lets go of the file. It may be appended to again.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
