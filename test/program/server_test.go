package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think"
)

// hang is how long a process may take that should take milliseconds: it is there
// to notice one that hangs, on whatever machine.
const hang = 2 * time.Minute

// server is `savant mcp` in a process of its own, with its stdio in hand.
type server struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Scanner
	ended   chan error
}

func serveIn(t testing.TB, folder string, environment ...string) *server {
	t.Helper()
	return startServer(t, exec.Command("savant", "mcp"), folder, environment...)
}

func startServer(t testing.TB, command *exec.Cmd, folder string, environment ...string) *server {
	t.Helper()
	command.Env = append(os.Environ(), append([]string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error", "XDG_CACHE_HOME=" + t.TempDir()}, environment...)...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	s := &server{command: command, stdin: stdin, lines: bufio.NewScanner(stdout), ended: make(chan error, 1)}
	s.lines.Buffer(nil, 1<<24)
	s.lines.Split(wholeLines)
	t.Cleanup(func() { // an error means that it has ended; until then it writes into the test's folder
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return s
}

// wholeLines is bufio.ScanLines without an end that is no whole line: a server
// that was killed while its client was slow to read said half of something.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if atEOF && !bytes.Contains(data, []byte("\n")) {
		return len(data), nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

func (s *server) send(t testing.TB, id int, tool string, args any) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	require.NoError(t, err)
	_, err = s.stdin.Write(append(line, '\n'))
	require.NoError(t, err)
}

// answer is the reply to a call of think.plan or think.next.
type answer struct {
	ID     int
	Result struct {
		IsError           bool
		StructuredContent think.Reply
	}
}

// read returns the next answer, and false at the end of the output.
func (s *server) read(t testing.TB) (answer, bool) {
	t.Helper()
	var got answer
	if !s.lines.Scan() {
		return got, false
	}
	require.NoError(t, json.Unmarshal(s.lines.Bytes(), &got))
	return got, true
}

// wait returns how the process ended, once its output has been read.
func (s *server) wait(t testing.TB) error {
	t.Helper()
	go func() { s.ended <- s.command.Wait() }()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(hang):
		t.Fatal("the server did not end")
		return nil
	}
}

// longWorkflow writes a workflow of many steps, each answered by the model.
func longWorkflow(t testing.TB, folder string, steps int) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "name: long\nversion: \"1.0\"\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&text, "  - {id: s%d, call: llm.generate, input_template: {task: Answer}}\n", i)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "long.yaml"), []byte(text.String()), 0o644))
}
