package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think"
)

// hang is how long a process may take that should take milliseconds.
const hang = 30 * time.Second

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
	command.Env = append(os.Environ(), append([]string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error"}, environment...)...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	s := &server{command: command, stdin: stdin, lines: bufio.NewScanner(stdout), ended: make(chan error, 1)}
	s.lines.Buffer(nil, 1<<24)
	t.Cleanup(func() { _ = command.Process.Kill() }) // an error means that it has ended
	return s
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

// A server that is told to end while calls are under way ends well, and what
// it had acknowledged is on disk and replays.
func TestASignalLosesNothingAcknowledged(t *testing.T) {
	const steps = 300
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			folder := t.TempDir()
			longWorkflow(t, folder, steps)
			s := serveIn(t, folder, "MCP_SERVICE=think")
			s.send(t, 0, "think.plan", map[string]any{"workflow": "long", "run_id": "r1"})
			go func() {
				for i := range steps {
					line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"think_next","arguments":{"run_id":"r1","step_id":"s%d","result_snapshot":%d}}}`+"\n", i+1, i, i)
					if _, err := io.WriteString(s.stdin, line); err != nil {
						return // the server has ended
					}
				}
			}()
			acknowledged := 0
			for got, ok := s.read(t); ok; got, ok = s.read(t) {
				if got.Result.IsError { // a call cut short: nothing is acknowledged
					require.GreaterOrEqual(t, acknowledged, steps/4, s.lines.Text())
					continue
				}
				acknowledged = max(acknowledged, got.Result.StructuredContent.State.Version)
				if got.ID == steps/4 {
					require.NoError(t, s.command.Process.Signal(signal))
				}
			}
			if err := s.wait(t); signal != syscall.SIGKILL {
				require.NoError(t, err)
			}
			require.Greater(t, acknowledged, steps/4)
			require.GreaterOrEqual(t, verified(t, folder, "r1"), acknowledged)
		})
	}
}

// verified returns the version of a run, once a replay has confirmed it.
func verified(t *testing.T, folder, run string) int {
	t.Helper()
	command := exec.Command("savant", "verify", run, "--json", "--path", folder)
	out, err := command.Output()
	require.NoError(t, err, string(out))
	var verdict think.DebugOutput
	require.NoError(t, json.Unmarshal(out, &verdict))
	require.Equal(t, "identical", verdict.Verdict)
	return verdict.To
}

// A call that never ends does not keep the server.
func TestAStuckCallDoesNotDelayASignal(t *testing.T) {
	folder := t.TempDir()
	stuck := filepath.Join(folder, "bin", "git")
	require.NoError(t, os.Mkdir(filepath.Dir(stuck), 0o755))
	require.NoError(t, os.WriteFile(stuck, []byte("#!/bin/sh\ntrap '' TERM INT\n: > started\nwhile :; do sleep 1; done\n"), 0o755))
	s := serveIn(t, folder, "MCP_SERVICE=git", "PATH="+filepath.Dir(stuck)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s.send(t, 1, "git.status", map[string]any{})
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "started")); return err == nil }, hang, time.Millisecond)
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	for _, ok := s.read(t); ok; _, ok = s.read(t) {
		continue
	}
	require.NoError(t, s.wait(t))
}

// A client that closes stderr early goes on being served.
func TestAClosedStderrDoesNotEndTheServer(t *testing.T) {
	folder := t.TempDir()
	reads, writes, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command("savant", "mcp")
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=debug", "MCP_SERVICE=think")
	command.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	command.Stderr = writes
	require.NoError(t, reads.Close())
	out, err := command.Output()
	require.NoError(t, err)
	require.NoError(t, writes.Close())
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, string(out))
}
