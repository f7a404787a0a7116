package index

import (
	"errors"

	"golang.org/x/sys/unix"
)

// sight looks at the files of a folder. Names are looked up from the folder on,
// which takes half the time of a whole path: a search looks at every file.
type sight struct {
	descriptor int
	failed     error
}

// newSight opens a folder; in one that cannot be opened nothing is seen, and
// failed says why.
func newSight(folder string) sight {
	descriptor, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		descriptor = nowhere
	}
	return sight{descriptor, err}
}

// nowhere is no descriptor: looking from it finds nothing.
const nowhere = -1

func (s sight) close() {
	if s.descriptor != nowhere {
		_ = unix.Close(s.descriptor) // nothing was written
	}
}

// at looks at a path, absolute or in the folder, and not through a link.
func (s sight) at(name string) seen {
	var status unix.Stat_t
	for {
		err := unix.Fstatat(s.descriptor, name, &status, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return seen{unread: !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR)}
		}
		return seen{
			stamp:   stamp{size: status.Size, modified: status.Mtim.Nano(), changed: status.Ctim.Nano(), inode: status.Ino},
			regular: status.Mode&unix.S_IFMT == unix.S_IFREG,
			linked:  status.Nlink > 1,
		}
	}
}
