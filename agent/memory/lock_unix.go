//go:build unix

package memory

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A lister holds the lock for a moment to see whether it is free, so whoever
// wants it tries more than once.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// lock takes the lock of an open journal until it is closed; false where
// another has it.
func lock(file *os.File) bool {
	for try := range lockTries {
		if try > 0 {
			time.Sleep(lockPause)
		}
		if flock(file, unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
	}
	return false
}

// locked says whether another has the lock.
func locked(file *os.File) bool {
	return errors.Is(flock(file, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
