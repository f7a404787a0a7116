//go:build unix

package ci

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a command as the leader of a process group, so that all it
// starts can be ended together. When its context ends the whole group is asked
// to end; WaitDelay later the leader is killed.
func ownGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGTERM) }
}

// endGroup kills what is left of the group of a command that has ended.
func endGroup(process *exec.Cmd) {
	_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) // an error means that nothing was left
}

// codeOf returns an exit code as shells do: 128 and the number of the signal
// that ended the process.
func codeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
