//go:build unix

package settings

import (
	"os"
	"syscall"
)

// othersWrite is the permission of everybody to write.
const othersWrite = 0o002

// safe reports whether an entry, which may be a link, belongs to the user of this process or
// to the owner of the working folder, which that user chose to be in, and whether not
// everybody may write to what it leads to.
func safe(path, working string) bool {
	entry, err := os.Lstat(path)
	if err != nil {
		return false
	}
	target, err := os.Stat(path)
	if err != nil || target.Mode()&othersWrite != 0 {
		return false
	}
	here, err := os.Stat(working)
	return err == nil && ownedAs(entry, here) && ownedAs(target, here)
}

// ownedAs reports whether an entry belongs to the user or to the owner of another.
func ownedAs(entry, other os.FileInfo) bool {
	of, ok := entry.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if int64(of.Uid) == int64(os.Geteuid()) {
		return true
	}
	here, ok := other.Sys().(*syscall.Stat_t)
	return ok && of.Uid == here.Uid
}
