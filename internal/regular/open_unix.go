//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// nonblocking keeps open from waiting for the other end of a pipe.
const nonblocking = unix.O_NONBLOCK

// openUnlinked opens a file in its folder below a root. The system looks for a link and opens
// in one step, so that nobody can put one there in between.
func openUnlinked(root *os.Root, name string, flags int, permission fs.FileMode) (*os.File, error) {
	folder, err := root.OpenFile(path.Dir(name), os.O_RDONLY|unix.O_DIRECTORY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only read
	for {
		number, err := unix.Openat(int(folder.Fd()), path.Base(name), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|nonblocking, uint32(permission))
		switch {
		case err == nil:
			return os.NewFile(uintptr(number), name), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK): // a link
			return nil, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
		default:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}
