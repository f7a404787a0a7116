// Package mongotest gives tests a database server that speaks the protocol of
// MongoDB: FerretDB over SQLite, as a process of its own, or the MongoDB that
// SAVANT_TEST_MONGO_URI names.
package mongotest

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// EnvURI is the variable that names a MongoDB to test against. Each test then uses
// a database of its own name, and those that kill the server are skipped.
const EnvURI = "SAVANT_TEST_MONGO_URI"

// Server is a database server for one test. It ends with the test.
type Server struct {
	t       testing.TB
	foreign string // the server of EnvURI, which is not ours to kill
	program string
	data    string

	mu      sync.Mutex
	address string // host and port of the server that runs
	process *exec.Cmd
	stdin   io.Closer
}

// Start starts a server with an empty folder of databases. Outside CI the test is
// skipped where the server's program was not built.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, foreign: os.Getenv(EnvURI)}
	if s.foreign != "" {
		return s
	}
	s.program, s.data = serverProgram(t), t.TempDir()
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// NewDatabase returns a name that no other test uses, as that of a database.
func NewDatabase() string { return "savant_test_" + strings.ToLower(rand.Text()[:12]) }

// URI returns the address of a database of the server that runs now.
func (s *Server) URI(database string) string {
	if s.foreign == "" {
		return "mongodb://" + s.Address() + "/" + database
	}
	uri, err := url.Parse(s.foreign)
	if err != nil {
		s.t.Fatalf("%s: %v", EnvURI, err)
	}
	uri.Path = "/" + database
	return uri.String()
}

// Address returns host and port of the server that runs now. It is skipped with the
// server of EnvURI, which may be several.
func (s *Server) Address() string {
	s.skipForeign("the test puts a proxy before the server")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Foreign says that the server is that of EnvURI.
func (s *Server) Foreign() bool { return s.foreign != "" }

func (s *Server) skipForeign(why string) {
	if s.foreign != "" {
		s.t.Skipf("%s is set: %s", EnvURI, why)
	}
}

// Kill ends the server with SIGKILL, as a crash does, and waits until it has ended.
func (s *Server) Kill() {
	s.skipForeign("the test kills the server")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = s.stdin.Close()
	s.process = nil
}

// Restart starts the server on its folder again, at another address: see Proxy for
// one that stays.
func (s *Server) Restart() {
	s.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	process := exec.Command(s.program, "-data", s.data)
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe() // it ends with this process, and the server with it
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = process.Process.Kill()
		s.t.Fatalf("the database server did not start: %v", fmt.Errorf("%w, %w", err, process.Wait()))
	}
	s.process, s.stdin = process, stdin
	s.address = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "mongodb://"), "/")
}
