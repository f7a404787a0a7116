//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Supported reports whether locks exclude others on this system.
const Supported = true

// TryLock takes the lock of a file, shared or exclusive, and returns false if
// another handle holds it.
func TryLock(file *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err := flock(file, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock of a file before it is closed.
func Unlock(file *os.File) error { return flock(file, unix.LOCK_UN) }

// flock uses the raw connection, because os.File.Fd may make a file blocking.
func flock(file *os.File, how int) error {
	connection, err := file.SyscallConn()
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
