package gitrun

import "golang.org/x/sys/unix"

// maxMemory bounds what git may allocate, in bytes. Of a repository it holds what a folder
// brings, such as the rules in .gitignore files of any size.
const maxMemory = 512 << 20

// limitMemory bounds the memory of a process that was just started. What fails there is
// reported by git.
func limitMemory(process int) {
	_ = unix.Prlimit(process, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil)
}
