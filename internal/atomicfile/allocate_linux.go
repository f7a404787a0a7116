package atomicfile

import (
	"os"
	"syscall"
)

// allocate gives a part of a new file its blocks before it is written. Where
// they are given later, ext4 writes all of a file to the disk when it replaces
// another (its option auto_da_alloc), and the next sync of any file waits for
// that: 1.6 ms instead of 0.4 ms for 1.3 MB, measured. Where it fails, the file
// is only slower.
func allocate(file *os.File, from int64, size int) {
	if size == 0 {
		return
	}
	connection, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = connection.Control(func(descriptor uintptr) { _ = syscall.Fallocate(int(descriptor), 0, from, int64(size)) })
}
