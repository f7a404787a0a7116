//go:build !unix

package repo

import "os"

// Where there is no flock, what two processes append at the same moment may
// keep only one of the two.
func lock(*os.File) error { return nil }
