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
	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// osDisk is the real disk, below an open folder.
type osDisk struct {
	atomicfile.FS
	root *os.Root
}

func openDisk(folder string) (disk, error) {
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return nil, err
	}
	return osDisk{atomicfile.Root(root), root}, nil
}

func (d osDisk) Open(name string, flags int) (file, error) {
	// Savant makes no links, and what one leads to is not its own.
	opened, err := regular.OpenUnlinked(d.root, name, flags, filePermission)
	if errors.Is(err, regular.ErrIrregular) || errors.Is(err, syscall.EISDIR) {
		return nil, errIrregular
	}
	if err != nil {
		return nil, err
	}
	return osFile{opened}, nil
}

func (d osDisk) Folder(name string) (folder, error) {
	root, err := regular.OpenBelow(d.root, name)
	if err != nil {
		return nil, err
	}
	return osDisk{root: root}, nil
}

func (d osDisk) Mkdir(name string) error { return ownfolder.Mkdir(d.root, name, folderPermission) }

func (d osDisk) Stat(name string) (stat, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return stat{}, err
	}
	return statOf(info)
}

func (d osDisk) Entries(folder string) ([]entry, error) {
	opened, err := d.root.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	infos, err := opened.Readdir(-1)
	entries := make([]entry, 0, len(infos))
	for _, info := range infos {
		found, failed := statOf(info)
		if failed != nil {
			return nil, failed
		}
		entries = append(entries, entry{info.Name(), info.IsDir(), found})
	}
	return entries, err
}

func (d osDisk) Touch(name string) error {
	now := time.Now()
	return d.root.Chtimes(name, now, now)
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

func (f osFile) Identity() string { return ownfolder.IdentityOfFile(f.File) }

// statOf identifies files by device and inode number.
func statOf(info fs.FileInfo) (stat, error) {
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}, errors.New("no inode number")
	}
	// The width of Dev differs between systems.
	device := uint64(system.Dev) //nolint:unconvert
	return stat{identity{device, system.Ino}, info.Size(), info.ModTime()}, nil
}

func (f osFile) TryLock(exclusive bool) (bool, error) { return filelock.TryLock(f.File, exclusive) }

func (f osFile) Unlock() error { return filelock.Unlock(f.File) }
