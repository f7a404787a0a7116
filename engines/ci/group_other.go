//go:build !unix

package ci

import (
	"os"
	"os/exec"
)

// ownGroup leaves the process as it is: only unix has process groups to end.
func ownGroup(*exec.Cmd) {}

func endGroup(*exec.Cmd) {}

func codeOf(state *os.ProcessState) int { return state.ExitCode() }
