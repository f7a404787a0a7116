//go:build !unix

package telemetry

import "os"

// Where there is no flock, several processes may each begin a file anew: lines
// stay whole, old ones may be lost.
func lockFile(*os.File) error   { return nil }
func unlockFile(*os.File) error { return nil }
