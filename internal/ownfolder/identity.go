package ownfolder

import (
	"fmt"
	"os"
	"time"
)

// Identity names a folder below a root by what no clone and no archive of it can bring: the
// number that the file system gave it, and when it was created here. It is "" where there
// is no folder.
func Identity(root *os.Root, name string) string {
	info, err := root.Stat(name)
	if err != nil || !info.IsDir() {
		return ""
	}
	folder, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer folder.Close()
	return identityOf(folder, info)
}

func identityOf(opened *os.File, info os.FileInfo) string {
	number, created := numberOf(opened, info)
	if created.IsZero() {
		return fmt.Sprintf("%d-0", number)
	}
	return fmt.Sprintf("%d-%x", number, created.UnixNano())
}

// IdentityOfFile is Identity of an open file, "" where it cannot be told.
func IdentityOfFile(opened *os.File) string {
	info, err := opened.Stat()
	if err != nil {
		return ""
	}
	return identityOf(opened, info)
}

// unknown is the time of creation where the system does not tell it.
var unknown time.Time
