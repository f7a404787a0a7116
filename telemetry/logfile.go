package telemetry

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"savant/internal/filelock"
	"savant/internal/ownfolder"
)

// logFile is a file of lines that several processes append to. A line is part of
// one write to a file opened for appending, so it stands whole. A file over its
// limit is moved to NAME.1 by whoever holds the lock on NAME.lock, so that it
// is moved once; a line that another process writes meanwhile is the last of
// the file that was moved.
type logFile struct {
	root *os.Root // SAVANT_PATH
	name string
	// limit is in bytes.
	limit int64
	// failed says that a failure was reported.
	failed bool

	folder     *os.Root // that of the file: a look at it is one call of the system
	inside     fs.FileInfo
	file, lock *os.File
	opened     fs.FileInfo
}

// append writes lines, each of which ends in a new line. anew says that the
// folder was deleted or moved meanwhile, and had to be made again.
func (l *logFile) append(lines []byte) (anew bool, err error) {
	if len(lines) == 0 {
		return false, nil
	}
	anew = l.gone()
	if err := l.prepare(); err != nil {
		return anew, err
	}
	full, err := l.current()
	if err == nil && full {
		err = l.rotate()
	}
	if err == nil {
		_, err = l.file.Write(lines)
	}
	return anew, err
}

// gone lets go of a folder that no longer has its name: what is written there
// nobody finds.
func (l *logFile) gone() bool {
	if l.lock == nil {
		return false
	}
	named, err := l.root.Stat(path.Dir(l.name))
	if err == nil && os.SameFile(named, l.inside) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_ = l.close() // every line is in it
	return true
}

// prepare makes the folder and opens it, with the lock.
func (l *logFile) prepare() error {
	if l.lock != nil {
		return nil
	}
	folder := path.Dir(l.name)
	if err := ownfolder.Mkdir(l.root, folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var err error
	if l.folder, err = l.root.OpenRoot(folder); err != nil {
		return err
	}
	if l.inside, err = l.folder.Stat("."); err == nil {
		l.lock, err = l.folder.OpenFile(l.base()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err != nil {
		l.lock = nil
		return errors.Join(err, l.folder.Close())
	}
	return nil
}

func (l *logFile) base() string { return path.Base(l.name) }

// current makes sure that the open file is the one that has the name, and says
// whether it is over the limit.
func (l *logFile) current() (full bool, err error) {
	named, err := l.folder.Lstat(l.base())
	if err == nil && l.file != nil && os.SameFile(named, l.opened) {
		return named.Size() > l.limit, nil
	}
	if err := l.release(); err != nil {
		return false, err
	}
	l.file, err = l.folder.OpenFile(l.base(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		l.file = nil
		return false, err
	}
	if l.opened, err = l.file.Stat(); err != nil {
		return false, err
	}
	return l.opened.Size() > l.limit, l.endLine()
}

// endLine ends a line that a process did not write whole before it was killed.
// Where another one is about to, an empty line comes of it.
func (l *logFile) endLine() error {
	last := make([]byte, 1)
	if size := l.opened.Size(); size > 0 {
		if _, err := l.file.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			_, err := l.file.WriteString("\n")
			return err
		}
	}
	return nil
}

// rotate moves the file to NAME.1, unless another process did so meanwhile.
func (l *logFile) rotate() (err error) {
	if err := filelock.Lock(l.lock); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, filelock.Unlock(l.lock)) }()
	full, err := l.current()
	if err != nil || !full {
		return err
	}
	if err := l.folder.Rename(l.base(), l.base()+".1"); err != nil {
		return err
	}
	_, err = l.current()
	return err
}

func (l *logFile) release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

func (l *logFile) close() error {
	err := l.release()
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close(), l.folder.Close())
		l.lock = nil
	}
	return err
}
