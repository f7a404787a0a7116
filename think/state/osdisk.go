//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"savant/internal/atomicfile"
)

// osDisk is the real disk, below an open folder.
type osDisk struct {
	atomicfile.FS
	root *os.Root
}

func openDisk(folder string) (disk, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return osDisk{atomicfile.Root(root), root}, nil
}

func (d osDisk) Open(name string, flags int) (file, error) {
	opened, err := d.root.OpenFile(name, flags, filePermission)
	if err != nil {
		return nil, err
	}
	return osFile{opened}, nil
}

func (d osDisk) Mkdir(name string) error { return d.root.Mkdir(name, folderPermission) }

func (d osDisk) Stat(name string) (stat, error) {
	info, err := d.root.Stat(name)
	if err != nil {
		return stat{}, err
	}
	return statOf(info)
}

func (d osDisk) Names(folder string) ([]string, error) {
	opened, err := d.root.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	return opened.Readdirnames(-1)
}

func (d osDisk) Folder(name string) (disk, error) {
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return osDisk{atomicfile.Root(root), root}, nil
}

func (d osDisk) Close() error { return d.root.Close() }

type osFile struct{ *os.File }

func (f osFile) Stat() (stat, error) {
	info, err := f.File.Stat()
	if err != nil {
		return stat{}, err
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
