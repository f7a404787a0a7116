//go:build unix

package settings

import (
	"os"
	"syscall"
)

// ownedAs reports whether an entry belongs to the user of this process, or to
// the owner of the working folder, which that user chose to be in.
func ownedAs(entry os.FileInfo, working string) bool {
	of, ok := entry.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if int64(of.Uid) == int64(os.Geteuid()) {
		return true
	}
	info, err := os.Stat(working)
	if err != nil {
		return false
	}
	here, ok := info.Sys().(*syscall.Stat_t)
	return ok && of.Uid == here.Uid
}
