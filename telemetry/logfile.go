package telemetry

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// logFile is a file of lines that several processes append to. A line is one
// write to a file opened for appending, so it stands whole. Whoever writes
// holds a shared lock on NAME.lock, whoever moves the file an exclusive one:
// nobody writes to a file that is just being moved, and it is moved once.
type logFile struct {
	root  *os.Root
	name  string
	limit int64
	// failed says that a failure was reported.
	failed bool

	file, lock *os.File
	opened     fs.FileInfo
}

// append writes one line, which ends in a new line.
func (l *logFile) append(line []byte) error {
	if err := l.prepare(); err != nil {
		return err
	}
	if err := lockShared(l.lock); err != nil {
		return err
	}
	full, err := l.current()
	if err == nil && full {
		err = l.rotate()
	}
	if err == nil {
		_, err = l.file.Write(line)
	}
	return errors.Join(err, unlock(l.lock))
}

// prepare makes the folder and opens the lock.
func (l *logFile) prepare() error {
	if l.lock != nil {
		return nil
	}
	if err := l.root.Mkdir(path.Dir(l.name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var err error
	l.lock, err = l.root.OpenFile(l.name+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

// current makes sure that the open file is the one that has the name, and says
// whether it is over the limit.
func (l *logFile) current() (full bool, err error) {
	named, err := l.root.Stat(l.name)
	if err == nil && l.file != nil && os.SameFile(named, l.opened) {
		return named.Size() > l.limit, nil
	}
	if err := l.release(); err != nil {
		return false, err
	}
	l.file, err = l.root.OpenFile(l.name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		l.file = nil
		return false, err
	}
	l.opened, err = l.file.Stat()
	return err == nil && l.opened.Size() > l.limit, err
}

// rotate moves the file to NAME.1 once nobody writes to it, unless another
// process did so meanwhile. A lock is not turned from shared to exclusive in
// one step: both are asked anew after it.
func (l *logFile) rotate() error {
	if err := unlock(l.lock); err != nil {
		return err
	}
	if err := lockExclusive(l.lock); err != nil {
		return err
	}
	full, err := l.current()
	if err != nil || !full {
		return err
	}
	if err := l.root.Rename(l.name, l.name+".1"); err != nil {
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
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return err
}
