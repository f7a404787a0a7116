//go:build !unix

package gitrun

import "os/exec"

// ownGroup does nothing: only unix has process groups.
func ownGroup(*exec.Cmd) {}
