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
	// stopPatience is how long a server may take to end after its input was
	// closed, and again after it was asked by SIGTERM.
	stopPatience = 500 * time.Millisecond
	// drainPatience is how long the output of a server that has ended is read.
	drainPatience = time.Second
)

// process is a server that Savant started. Its three streams are pipes of our
// own, so that waiting for its end loses nothing of its output.
type process struct {
	command *exec.Cmd
	// group is the server and everything it starts: they end together, and a
	// Ctrl-C does not reach them.
	group          *processgroup.Group
	stdin          *os.File
	stdout, stderr *os.File
	// done is closed when it has ended and nothing of its group is left.
	done chan struct{}
}

// startProcess starts a server.
func startProcess(l launch) (*process, error) {
	command := exec.Command(l.command, l.args...)
	command.Env, command.Dir = l.env, l.dir
	p := &process{command: command, group: processgroup.New(), done: make(chan struct{})}
	theirs, err := p.pipes()
	if err == nil {
		err = p.group.Start(command)
	}
	for _, each := range theirs {
		_ = each.Close() // the child has its own
	}
	if err != nil {
		p.group.End()
		p.closeStreams()
		return nil, fault.New(fault.EngineOffline, "the command does not start: %w", l.hideCause(err))
	}
	go p.wait()
	return p, nil
}

// hideCause says why a program did not start, without its path.
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

// wait waits for the end of the server, ends what it left behind, and limits how
// long its streams are read: a program in another group may still hold them.
func (p *process) wait() {
	defer close(p.done)
	_ = p.command.Wait() // its exit code does not matter
	p.group.End()
	_ = p.stdin.Close()
	deadline := time.Now().Add(drainPatience)
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
}

func (p *process) closeStreams() {
	for _, each := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = each.Close() // of a nil file it is an error, too
	}
}

// stop ends the server: it closes its input, then sends SIGTERM, then kills it.
func (p *process) stop() {
	_ = p.stdin.Close()
	if p.ended(stopPatience) {
		return
	}
	_ = p.group.Ask() // none is left: that is what was asked
	if p.ended(stopPatience) {
		return
	}
	_ = p.group.Kill()
	<-p.done
}

func (p *process) ended(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
