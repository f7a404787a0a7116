//go:build !unix

package terminal

import "os"

// HasNoReader reports whether a pipe has lost its reader. On this system only a write
// can tell.
func HasNoReader(*os.File) bool { return false }
