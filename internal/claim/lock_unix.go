//go:build unix

package claim

import (
	"errors"
	"os"
	"syscall"
)

// locks says that a lock keeps others out.
const locks = true

// lock takes the lock of an open file until it is closed.
func lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrTaken
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}
