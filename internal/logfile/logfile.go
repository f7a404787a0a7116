// Package logfile writes log files that several processes append to. A file
// over its limit is moved to NAME.1 and begun anew.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"savant/internal/filelock"
	"savant/internal/ownfolder"
)

// File is a file of lines, made when there is something to write. Lines are
// part of one write to a file opened for appending, so each stands whole. Who
// moves a full file holds its lock, so that it is moved once; a line that
// another process writes meanwhile is the last of the file that was moved. A
// File is not for several goroutines at once.
type File struct {
	root  *os.Root
	name  string // below root, in a folder
	limit int64

	folder *os.Root // of the file, nil until there is something to write
	inside fs.FileInfo
	file   *os.File
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
	anew = f.leave()
	if err := f.enter(); err != nil {
		return anew, err
	}
	full, err := f.open()
	if err == nil && full {
		err = f.rotate()
	}
	if err == nil {
		_, err = f.file.Write(lines)
	}
	return anew, err
}

// leave lets go of a folder that no longer has its name: what is written there
// nobody finds.
func (f *File) leave() bool {
	if f.folder == nil {
		return false
	}
	named, err := f.root.Stat(path.Dir(f.name))
	if err == nil && os.SameFile(named, f.inside) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_ = f.Close() // every line is in it
	return true
}

// enter makes the folder and opens it.
func (f *File) enter() error {
	if f.folder != nil {
		return nil
	}
	name := path.Dir(f.name)
	if err := ownfolder.Mkdir(f.root, name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := f.root.OpenRoot(name)
	if err != nil {
		return err
	}
	if f.inside, err = folder.Stat("."); err != nil {
		return errors.Join(err, folder.Close())
	}
	f.folder = folder
	return nil
}

func (f *File) base() string { return path.Base(f.name) }

// open makes sure that the open file is the one that has the name, and says
// whether it is over the limit.
func (f *File) open() (full bool, err error) {
	named, err := f.folder.Lstat(f.base())
	if err == nil && f.file != nil && os.SameFile(named, f.opened) {
		return named.Size() > f.limit, nil
	}
	if err := f.release(); err != nil {
		return false, err
	}
	file, err := f.folder.OpenFile(f.base(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	f.file = file
	if f.opened, err = file.Stat(); err != nil {
		return false, err
	}
	return f.opened.Size() > f.limit, f.endLine()
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
	if err := filelock.Lock(full); err != nil {
		return err
	}
	named, err := f.folder.Lstat(f.base())
	if err == nil && os.SameFile(named, f.opened) {
		err = f.folder.Rename(f.base(), f.base()+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, filelock.Unlock(full))
	}
	_, err = f.open() // closes the moved one, which ends its lock
	return err
}

func (f *File) release() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// Close lets go of the file. It may be appended to again.
func (f *File) Close() error {
	err := f.release()
	if f.folder != nil {
		err = errors.Join(err, f.folder.Close())
		f.folder = nil
	}
	return err
}
