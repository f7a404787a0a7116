//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// keeping is all that a keeper does: it waits until nobody holds the other end of
// its input. Then its group, where the end of Savant's pipes did not end it, is
// asked to end after a second, and killed after another, itself with it. What asks
// a group to end is not meant for the keeper.
const keeping = `trap '' HUP INT QUIT TERM; read -r end; sleep 1; kill -s TERM 0; sleep 1; kill -s KILL 0`

// Group is the process group of a program. It is led by a keeper, a shell that
// ends all of it once this process is gone, also where it was killed: a
// parent-death signal would reach the program alone, not what that has started.
// A program that starts a session of its own leaves the group. All methods may
// be called at once, once Start has returned.
type Group struct {
	keeper *exec.Cmd
	// held is the keeper's input. It closes with this process.
	held *os.File

	mu sync.Mutex
	// id is that of the group; 0 where there is none yet, or none any more. Where
	// no shell is to be had, the program leads it.
	id int
}

// New returns a group for one program. It has to be ended.
func New() *Group {
	input, held, err := os.Pipe()
	if err != nil {
		return &Group{}
	}
	defer input.Close()
	keeper := exec.Command("/bin/sh", "-c", keeping)
	keeper.Stdin, keeper.Env, keeper.Dir = input, []string{}, "/"
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if keeper.Start() != nil {
		held.Close()
		return &Group{}
	}
	return &Group{keeper: keeper, held: held, id: keeper.Process.Pid}
}

// Start starts the program, whose attributes it sets.
func (g *Group) Start(program *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	if err := program.Start(); err != nil {
		return err
	}
	if g.id == 0 {
		g.id = program.Process.Pid
	}
	return nil
}

// Ask asks every process of the group to end, by SIGTERM.
func (g *Group) Ask() error { return g.signal(syscall.SIGTERM) }

// Kill kills every process of the group.
func (g *Group) Kill() error { return g.signal(syscall.SIGKILL) }

func (g *Group) signal(signal syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.id, signal)
}

// End kills what is left of the group, once its program has ended or did not
// start. Calling it again does nothing.
func (g *Group) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 {
		return
	}
	_ = syscall.Kill(-g.id, syscall.SIGKILL) // an error means that nothing was left
	g.id = 0
	if g.keeper != nil {
		_ = g.held.Close()
		_ = g.keeper.Wait() // killed, as it should be
	}
}
