//go:build unix

package mount

import (
	"os"
	"syscall"
)

// lockExclusive waits until no other process has the file; closing it lets go.
func lockExclusive(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
}
