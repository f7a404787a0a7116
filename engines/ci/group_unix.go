//go:build unix

package ci

import (
	"os"
	"syscall"
)

// codeOf returns an exit code in the way of shells: 128 plus the number of the signal
// that killed the process.
func codeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
