//go:build unix

package mount

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a server in a process group of its own, so that its end is the
// end of every process it started, and a Ctrl-C is not for it.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup asks a server's processes to end, or ends them.
func signalGroup(process *os.Process, end bool) {
	signal := syscall.SIGTERM
	if end {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-process.Pid, signal) // none is left: that is what was asked
}

// lockExclusive waits until no other process has the file; closing it lets go.
func lockExclusive(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
}
