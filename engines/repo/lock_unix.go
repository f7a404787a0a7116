//go:build unix

package repo

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits until no other process holds a folder. Closing it lets go.
func lock(folder *os.File) error {
	for {
		err := unix.Flock(int(folder.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
