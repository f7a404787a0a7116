//go:build !unix

package processgroup

import (
	"os"
	"os/exec"
	"sync"
)

// Group is the program alone: only unix has process groups to end.
type Group struct {
	mu      sync.Mutex
	program *os.Process
}

// New returns a group for one program.
func New() *Group { return &Group{} }

// Start starts the program.
func (g *Group) Start(program *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := program.Start(); err != nil {
		return err
	}
	g.program = program.Process
	return nil
}

// Ask ends the program: there is nothing gentler.
func (g *Group) Ask() error { return g.Kill() }

// Kill ends the program.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.program == nil {
		return os.ErrProcessDone
	}
	return g.program.Kill()
}

// End does nothing: the program has ended.
func (*Group) End() {}
