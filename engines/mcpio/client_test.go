package mcpio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
	"savant/fault"
)

// connect joins our client to our server.
func connect(t testing.TB, o mcpio.Options, client mcpclient.Options) *mcpclient.Client {
	t.Helper()
	server, err := mcpio.New(o)
	require.NoError(t, err)
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	go func() { _ = outWriter.CloseWithError(server.Serve(context.Background(), inReader, outWriter)) }()
	c, err := mcpclient.Connect(t.Context(), inWriter, outReader, client)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// The client sees what the server publishes, tools in their canonical names.
func TestClient(t *testing.T) {
	o := exhibition(t)
	c := connect(t, o, mcpclient.Options{Version: "1"})
	name, version, protocol := c.ServerInfo()
	require.Equal(t, []string{"savant", "1.0.0", "2025-11-25"}, []string{name, version, protocol})

	tools, err := c.Tools(t.Context())
	require.NoError(t, err)
	want := o.Registry.Tools()
	require.Len(t, tools, len(want))
	for i := range want {
		want[i].Input = want[i].ListedInput()
		want[i].Call, want[i].Mounted = nil, true  // for its client the server is another one
		want[i].Output, tools[i].Output = nil, nil // published in another form: TestWhatIsPublishedIsExact
		require.Equal(t, want[i], tools[i])
	}

	sum, err := c.Call(t.Context(), "test.add", map[string]int{"a": 1, "b": 2})
	require.NoError(t, err)
	require.JSONEq(t, `{"sum":3}`, string(sum))
}

// What the server reports comes back as the same coded error.
func TestClientErrors(t *testing.T) {
	c := connect(t, exhibition(t), mcpclient.Options{})
	_, err := c.Call(t.Context(), "test.coded", nil)
	var coded *fault.Error
	require.ErrorAs(t, err, &coded)
	require.Equal(t, fault.StateConflict, coded.Code)
	require.Equal(t, "version", coded.Diagnostics[0].Path)

	_, err = c.Call(t.Context(), "test.nothing", nil)
	require.ErrorIs(t, err, fault.UnknownTool)
	_, err = c.Call(t.Context(), "test.echo", func() {})
	require.ErrorIs(t, err, fault.InvalidParams)
}

// A caller that gives up cancels the call on the server too.
func TestClientGivesUp(t *testing.T) {
	slow := newGate()
	ended := make(chan struct{})
	watched := tool("test.watched", func(ctx context.Context, _ engines.Call, args json.RawMessage) (any, error) {
		defer close(ended)
		return slow.tool("x.x").Call(ctx, engines.Call{}, args)
	})
	c := connect(t, options(t, watched), mcpclient.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, "test.watched", nil)
		failed <- err
	}()
	slow.await(t)
	cancel()
	err := <-failed
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

// A server that dies fails the calls that wait for it.
func TestClientOfADeadServer(t *testing.T) {
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	go func() {
		reader := bufio.NewReader(inReader)
		_, _ = reader.ReadString('\n')
		_, _ = fmt.Fprintln(outWriter, `a stray line`)
		_, _ = fmt.Fprintln(outWriter, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
		_, _ = reader.ReadString('\n')
		_, _ = fmt.Fprintln(outWriter, `{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		_, _ = reader.ReadString('\n')
		_, _ = reader.ReadString('\n')
		_ = outWriter.Close()
		_ = inReader.Close()
	}()
	c, err := mcpclient.Connect(t.Context(), inWriter, outReader, mcpclient.Options{})
	require.NoError(t, err)
	_, err = c.Tools(t.Context())
	require.ErrorIs(t, err, fault.EngineOffline)
	_, err = c.Call(t.Context(), "test.echo", nil)
	require.ErrorIs(t, err, fault.EngineOffline)
	require.NoError(t, c.Close())
}

// A server that does not speak MCP is detected at once.
func TestClientOfNoServer(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		code  fault.Code
	}{
		"nothing":    {"", fault.EngineOffline},
		"error":      {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"who are you?"}}`, fault.ToolFailed},
		"odd error":  {`{"jsonrpc":"2.0","id":1,"error":7}`, fault.ToolFailed},
		"odd result": {`{"jsonrpc":"2.0","id":1,"result":7}`, fault.ToolFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inReader, inWriter := io.Pipe()
			outReader, outWriter := io.Pipe()
			go func() {
				_, _ = bufio.NewReader(inReader).ReadString('\n')
				_, _ = fmt.Fprintln(outWriter, c.reply)
				_ = outWriter.Close()
			}()
			_, err := mcpclient.Connect(t.Context(), inWriter, outReader, mcpclient.Options{})
			require.ErrorIs(t, err, c.code)
		})
	}
}

// The client drives a real child process and sees it end.
func TestClientOfAProcess(t *testing.T) {
	command, stdin, stdout, stderr := child(t)
	c, err := mcpclient.Connect(t.Context(), stdin, stdout, mcpclient.Options{})
	require.NoError(t, err)
	got, err := c.Call(t.Context(), "test.echo", map[string]int{"n": 9007199254740993})
	require.NoError(t, err)
	require.JSONEq(t, `{"n":9007199254740993}`, string(got))
	require.NoError(t, c.Close())
	_, _ = io.Copy(os.Stderr, stderr)
	require.NoError(t, command.Wait())
}
