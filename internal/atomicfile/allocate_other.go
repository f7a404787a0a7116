//go:build !linux

package atomicfile

import "os"

// allocate is for Linux, where replacing a file may wait for its blocks.
func allocate(*os.File, int64, int) {}
