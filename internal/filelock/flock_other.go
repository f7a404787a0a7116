//go:build !unix

package filelock

import "os"

// Supported reports whether locks exclude others on this system.
const Supported = false

// TryLock grants every lock.
func TryLock(*os.File, bool) (bool, error) { return true, nil }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }
