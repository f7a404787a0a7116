//go:build !unix

package mount

import (
	"os"
	"os/exec"
)

// ownGroup leaves the process as it is: only unix has process groups.
func ownGroup(*exec.Cmd) {}

// signalGroup ends a server; other systems cannot ask it to.
func signalGroup(process *os.Process, _ bool) { _ = process.Kill() }

// lockExclusive does nothing: two processes that trust a server for the first
// time at once may both write what they saw.
func lockExclusive(*os.File) error { return nil }
