//go:build linux || android || openbsd || dragonfly || solaris

package index

import (
	"io/fs"
	"syscall"
)

// inode returns what tells a file from another of the same name, and when it
// was last changed in any way, in nanoseconds.
func inode(info fs.FileInfo) (number uint64, changed int64) {
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return status.Ino, status.Ctim.Nano()
}

// links returns how many names a file has.
func links(info fs.FileInfo) uint64 {
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(status.Nlink)
}
