//go:build unix

package mongotest

import (
	"errors"
	"syscall"
)

// Pause stops the server with SIGSTOP, and returns when it has stopped: it has its
// connections, takes new ones, and answers nothing until it is resumed.
func (s *Server) Pause() {
	pid := s.signal(syscall.SIGSTOP)
	for stopped := false; !stopped; {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			s.t.Fatal(err)
		}
		stopped = status.Stopped()
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) (pid int) {
	s.skipForeign("the test stops the server")
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	return s.process.Process.Pid
}
