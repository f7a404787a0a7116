//go:build unix

package telemetry

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lockShared(file *os.File) error    { return flock(file, unix.LOCK_SH) }
func lockExclusive(file *os.File) error { return flock(file, unix.LOCK_EX) }
func unlock(file *os.File) error        { return flock(file, unix.LOCK_UN) }

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
