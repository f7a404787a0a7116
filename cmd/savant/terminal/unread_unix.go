//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HasNoReader reports whether a pipe or a socket has lost its reader: POLLERR and
// POLLHUP of poll(2), which are always reported. A file or a terminal has a reader.
func HasNoReader(file *os.File) (gone bool) {
	raw, err := file.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(descriptor uintptr) {
		asked := []unix.PollFd{{Fd: int32(descriptor)}}
		ready, err := unix.Poll(asked, 0)
		gone = err == nil && ready > 0 && asked[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone && err == nil
}
