package gitrun

import "golang.org/x/sys/unix"

// limitMemory bounds the memory of a process that was just started, all of it and not
// only one piece. What fails there is reported by git.
func limitMemory(process int) {
	_ = unix.Prlimit(process, unix.RLIMIT_DATA, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil)
}
