package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// statter reads the status of files in a folder. It looks names up relative to
// the open folder, which takes half the time of a whole path: a search may read
// the status of every file.
type statter struct{ descriptor int }

// newStatter opens a folder. An error is TOOL_FAILED with a FolderError.
func newStatter(folder string) (statter, error) {
	descriptor, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return statter{}, NotRead(err)
	}
	return statter{descriptor}, nil
}

func (s statter) close() { _ = unix.Close(s.descriptor) } // nothing was written

// status reads the status of a path, absolute or in the folder. It does not
// follow a symbolic link.
func (s statter) status(name string) status {
	var read unix.Stat_t
	for {
		err := unix.Fstatat(s.descriptor, name, &read, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return status{unread: !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)}
		}
		return status{
			stamp:   Stamp{Size: read.Size, Modified: read.Mtim.Nano(), Changed: read.Ctim.Nano(), Inode: read.Ino},
			regular: read.Mode&unix.S_IFMT == unix.S_IFREG,
			linked:  read.Nlink > 1,
		}
	}
}
