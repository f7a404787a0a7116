//go:build unix

package processgroup

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// keeping is the keeper's shell script. It waits for the end of its input, which comes
// when this process ends. Most programs end then because Savant's pipes close. After a
// second it asks the rest of the group to end, and after another second it kills the
// group and itself. It ignores the signal by which the group is asked to end.
const keeping = `trap '' HUP INT QUIT TERM; read -r end; sleep 1; kill -s TERM 0; sleep 1; kill -s KILL 0`

// Group is the process group of a program. Its leader is the keeper, a shell that ends
// the whole group once this process has ended, even if it was killed. A parent-death
// signal would end only the program, not its children. A program that starts a session
// of its own leaves the group. All methods are safe for concurrent use after Start has
// returned.
type Group struct {
	keeper *exec.Cmd
	// held is the keeper's input. It closes when this process ends.
	held *os.File

	mu sync.Mutex
	// id is the id of the group; 0 if there is none. Without a shell, the program leads
	// the group.
	id int
}

// New returns a group for one program. The caller must call End.
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

// Start starts the program and sets its attributes.
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

// End kills the rest of the group, after its program has ended or failed to start. It
// may be called more than once.
func (g *Group) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 {
		return
	}
	_ = syscall.Kill(-g.id, syscall.SIGKILL) // an error means that the group is empty
	g.id = 0
	if g.keeper != nil {
		_ = g.held.Close()
		_ = g.keeper.Wait() // it was killed
	}
}
