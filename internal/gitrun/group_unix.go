//go:build unix

package gitrun

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the end of a command kill all its descendants.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
