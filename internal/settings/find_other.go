//go:build !unix

package settings

// safe has no owners to compare here.
func safe(string, string) bool { return true }
