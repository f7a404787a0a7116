package mount

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"savant/fault"
	"savant/internal/processgroup"
)

const (
	// stopPatience is how long a server may take to end after its input was closed, and
	// again after SIGTERM.
	stopPatience = 500 * time.Millisecond
	// drainPatience is how long the output of an ended server is read.
	drainPatience = time.Second
)

// process is a server that Savant started. It uses its own pipes, so that Wait does not
// discard unread output.
type process struct {
	command *exec.Cmd
	// group is the process group of the server: it is ended as a whole, and a Ctrl-C
	// does not reach it.
	group          *processgroup.Group
	stdin          *os.File
	stdout, stderr *os.File
	// done is closed when the server and its group have ended, heard when its stderr was read.
	done, heard chan struct{}
	// said are the last lines of its stderr; set before heard is closed.
	said []string
}

// startProcess starts a server.
func startProcess(l launch) (*process, error) {
	command := exec.Command(l.command, l.args...)
	command.Env, command.Dir = l.env, l.dir
	p := &process{command: command, group: processgroup.New(), done: make(chan struct{}), heard: make(chan struct{})}
	theirs, err := p.pipes()
	if err == nil {
		err = p.group.Start(command)
	}
	for _, each := range theirs {
		_ = each.Close() // the child has duplicates
	}
	if err != nil {
		p.group.End()
		p.closeStreams()
		return nil, fault.New(fault.EngineOffline, "the command does not start: %w", l.hideCause(err))
	}
	go p.wait()
	return p, nil
}

// hideCause returns why a program did not start, without its path.
func (l launch) hideCause(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("no such program in PATH")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such program or folder")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("it may not be executed")
	}
	return errors.New(l.hidden.Text(err.Error()))
}

// pipes connects the streams and returns the child's ends.
func (p *process) pipes() (theirs []*os.File, err error) {
	var ends [3][2]*os.File // read, write
	for i := range ends {
		if ends[i][0], ends[i][1], err = os.Pipe(); err != nil {
			break
		}
	}
	p.stdin, p.stdout, p.stderr = ends[0][1], ends[1][0], ends[2][0]
	if err == nil {
		p.command.Stdin, p.command.Stdout, p.command.Stderr = ends[0][0], ends[1][1], ends[2][1]
	}
	return []*os.File{ends[0][0], ends[1][1], ends[2][1]}, err
}

// wait waits for the end of the server, ends the rest of its group, and bounds how long
// its streams are read: a process in another group may still hold them.
func (p *process) wait() {
	defer close(p.done)
	_ = p.command.Wait() // lastWords has the exit code
	p.group.End()
	_ = p.stdin.Close()
	deadline := time.Now().Add(drainPatience)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
}

func (p *process) closeStreams() {
	for _, each := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = each.Close() // a nil file gives an error, too
	}
}

// stop closes the server's input, then sends SIGTERM, then kills it.
func (p *process) stop() {
	_ = p.stdin.Close()
	if p.waitForEnd(stopPatience) {
		return
	}
	_ = p.group.Ask() // an error means that the group has ended
	if p.waitForEnd(stopPatience) {
		return
	}
	_ = p.group.Kill()
	<-p.done
}

func (p *process) waitForEnd(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
