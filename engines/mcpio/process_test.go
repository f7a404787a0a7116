package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
)

// childMode names the environment variable that makes the test binary a server.
const childMode = "MCPIO_TEST_SERVE"

func exit(code int) { os.Exit(code) }

// serveAsChild serves on the real standard streams when the environment asks.
func serveAsChild() (served bool, code int) {
	if os.Getenv(childMode) == "" {
		return false, 0
	}
	registry := engines.NewRegistry(engines.Options{})
	err := registry.Add(echo(), tool("test.stuck", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		fmt.Fprintln(os.Stderr, "stuck")
		select {}
	}))
	if err != nil {
		return true, 2
	}
	server, err := mcpio.New(mcpio.Options{Registry: registry})
	if err != nil {
		return true, 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := server.Serve(ctx, os.Stdin, os.Stdout); err != nil {
		return true, 1
	}
	return true, 0
}

func child(t *testing.T) (*exec.Cmd, io.WriteCloser, io.ReadCloser, io.ReadCloser) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), childMode+"=1", "GORACE=atexit_sleep_ms=0") // else a race build sleeps a second at its end
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	return command, stdin, stdout, stderr
}

// A process whose stdin closes at once behind six calls answers all six.
func TestProcessAnswersAllAtEOF(t *testing.T) {
	command, stdin, stdout, _ := child(t)
	for i := range 6 {
		_, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_echo","arguments":{"n":%d}}}`+"\n", i, i)
		require.NoError(t, err)
	}
	require.NoError(t, stdin.Close())
	out, err := io.ReadAll(stdout)
	require.NoError(t, err)
	require.NoError(t, command.Wait())
	lines := splitLines(string(out))
	require.ElementsMatch(t, []string{"0", "1", "2", "3", "4", "5"}, ids(t, lines))
}

// A signal ends the process although a handler is stuck and stdin is open.
func TestProcessEndsOnSignal(t *testing.T) {
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) {
			command, stdin, stdout, stderr := child(t)
			defer func() { _ = stdin.Close() }()
			_, err := fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test.stuck"}}`)
			require.NoError(t, err)
			_, err = io.ReadFull(stderr, make([]byte, len("stuck\n")))
			require.NoError(t, err)
			require.NoError(t, command.Process.Signal(sent))
			killer := time.AfterFunc(hang, func() { _ = command.Process.Kill() })
			defer killer.Stop()
			_, err = io.ReadAll(stdout)
			require.NoError(t, err)
			require.NoError(t, command.Wait(), "the process did not end by itself")
		})
	}
}
