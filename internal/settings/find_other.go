//go:build !unix

package settings

import "os"

// ownedAs has no owners to compare here.
func ownedAs(os.FileInfo, string) bool { return true }
