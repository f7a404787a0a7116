package ownfolder

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// numberOf returns the number of an open folder, and when it was created.
func numberOf(folder *os.File, _ fs.FileInfo) (uint64, time.Time) {
	var found unix.Statx_t
	if unix.Statx(int(folder.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &found) != nil {
		return 0, unknown
	}
	if found.Mask&unix.STATX_BTIME == 0 {
		return found.Ino, unknown
	}
	return found.Ino, time.Unix(found.Btime.Sec, int64(found.Btime.Nsec))
}
