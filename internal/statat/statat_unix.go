//go:build unix

package statat

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// At returns what is under a name, which is not followed where it is a link.
//
// A folder on the way may be a link that leads out of the folder. So it may only
// be used to learn that what is there is, or is not, the file that is known;
// opening goes by os.Root.
func At(folder *os.File, name string) (unix.Stat_t, error) {
	var found unix.Stat_t
	connection, err := folder.SyscallConn()
	if err != nil {
		return found, err
	}
	controlled := connection.Control(func(descriptor uintptr) { err = fstatat(int(descriptor), name, &found) })
	return found, errors.Join(controlled, err)
}

func fstatat(folder int, name string, found *unix.Stat_t) error {
	for {
		if err := unix.Fstatat(folder, name, found, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
