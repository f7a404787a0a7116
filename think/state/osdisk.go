//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"savant/internal/atomicfile"
	"savant/internal/ownfolder"
	"savant/internal/statat"
)

// osDisk is the real disk, below an open folder.
type osDisk struct {
	atomicfile.FS
	root *os.Root
	top  *os.File // the folder itself
}

func openDisk(folder string) (disk, error) { return newOSDisk(os.OpenRoot(folder)) }

func newOSDisk(root *os.Root, err error) (disk, error) {
	if err != nil {
		return nil, err
	}
	top, err := root.Open(".")
	if err != nil {
		_ = root.Close() // the first error is the one to report
		return nil, err
	}
	return osDisk{atomicfile.Root(root), root, top}, nil
}

func (d osDisk) Open(name string, flags int) (file, error) {
	// Without blocking: a named pipe would wait for somebody at its other end.
	opened, err := d.root.OpenFile(name, flags|unix.O_NONBLOCK, filePermission)
	if err != nil {
		if info, failed := d.root.Lstat(name); failed == nil && !info.Mode().IsRegular() {
			err = errIrregular // a folder, or a link that leads nowhere or out of the root
		}
		return nil, err
	}
	return osFile{opened}, nil
}

func (d osDisk) Mkdir(name string) error { return ownfolder.Mkdir(d.root, name, folderPermission) }

// Stat is asked for at each step. It may follow a link out of the root, but only
// to learn that what is there is not the file it knows; opening goes by the root.
func (d osDisk) Stat(name string) (stat, error) {
	found, err := statat.At(d.top, name)
	if err != nil {
		return stat{}, err
	}
	// The width of Dev differs between systems.
	device := uint64(found.Dev) //nolint:unconvert
	return stat{identity{device, found.Ino}, found.Size, time.Unix(found.Mtim.Unix())}, nil
}

func (d osDisk) Names(folder string) ([]string, error) {
	opened, err := d.root.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	return opened.Readdirnames(-1)
}

func (d osDisk) Folder(name string) (disk, error) {
	root, err := d.root.OpenRoot(name)
	if err != nil {
		if info, failed := d.root.Stat(name); failed == nil && !info.IsDir() {
			err = unix.ENOTDIR // which OpenRoot says in words only
		}
	}
	return newOSDisk(root, err)
}

func (d osDisk) Touch(name string) error {
	now := time.Now()
	return d.root.Chtimes(name, now, now)
}

func (d osDisk) Close() error { return errors.Join(d.top.Close(), d.root.Close()) }

// Peek makes three calls of the system and no *os.File, which is what a listing
// of thousands of runs consists of. Links are refused.
func (d osDisk) Peek(name string, block []byte) (n int, err error) {
	connection, err := d.top.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlled := connection.Control(func(descriptor uintptr) { n, err = peek(int(descriptor), name, block) })
	return n, errors.Join(controlled, err)
}

func peek(folder int, name string, block []byte) (int, error) {
	opened, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(opened) }() // only read
	for {
		// Of a file, a read that is short has reached the end.
		if n, err := unix.Pread(opened, block, 0); !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

type osFile struct{ *os.File }

func (f osFile) Stat() (stat, error) {
	info, err := f.File.Stat()
	if err != nil {
		return stat{}, err
	}
	if !info.Mode().IsRegular() {
		return stat{}, errIrregular
	}
	return statOf(info)
}

func statOf(info fs.FileInfo) (stat, error) {
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, errors.New("no inode number")
	}
	// The width of Dev differs between systems.
	device := uint64(system.Dev) //nolint:unconvert
	return stat{identity{device, system.Ino}, info.Size(), info.ModTime()}, nil
}

func (f osFile) TryLock(exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err := f.flock(how | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (f osFile) Unlock() error { return f.flock(unix.LOCK_UN) }

// flock goes through the raw connection: Fd would make the file blocking.
func (f osFile) flock(how int) error {
	connection, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = connection.Control(func(descriptor uintptr) {
		for {
			if result = unix.Flock(int(descriptor), how); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return result
}
