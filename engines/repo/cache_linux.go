package repo

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity names a folder by what no clone can bring: its number and when it was created on
// this machine.
func identity(folder string) string {
	var found unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, folder, 0, unix.STATX_INO|unix.STATX_BTIME, &found) != nil {
		return "0"
	}
	return fmt.Sprintf("%x-%x-%x", found.Ino, found.Btime.Sec, found.Btime.Nsec)
}
