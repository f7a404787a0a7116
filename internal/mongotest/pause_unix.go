//go:build unix

package mongotest

import "syscall"

// Pause stops the server with SIGSTOP: it has its connections, takes new ones, and answers
// nothing until it is resumed.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) {
	s.skipForeign("the test stops the server")
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}
