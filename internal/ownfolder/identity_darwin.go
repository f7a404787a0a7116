package ownfolder

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// numberOf returns the number of a folder, and when it was created.
func numberOf(_ *os.File, info fs.FileInfo) (uint64, time.Time) {
	found, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, unknown
	}
	return found.Ino, time.Unix(found.Birthtimespec.Unix())
}
