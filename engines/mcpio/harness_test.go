package mcpio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
)

func TestMain(m *testing.M) {
	if served, code := serveAsChild(); served {
		exit(code)
	}
	goleak.VerifyTestMain(m)
}

// hang is how long a test waits before it calls something stuck.
const hang = 2 * time.Minute

// wire is a client that speaks lines: what a test sends is what the server
// reads, byte for byte.
type wire struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	done  chan error
	stop  context.CancelFunc
}

// dial serves options over two pipes.
func dial(t *testing.T, options mcpio.Options) *wire {
	t.Helper()
	server, err := mcpio.New(options)
	require.NoError(t, err)
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	w := &wire{t: t, in: inWriter, lines: make(chan string, 10_000), done: make(chan error, 1), stop: stop}
	go func() {
		err := server.Serve(ctx, inReader, outWriter)
		_ = outWriter.Close()
		w.done <- err
	}()
	go w.read(outReader)
	t.Cleanup(func() {
		stop()
		_ = inWriter.Close()
		_ = outReader.Close()
	})
	return w
}

func (w *wire) read(out io.Reader) {
	defer close(w.lines)
	reader := bufio.NewReader(out)
	for {
		text, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		w.lines <- text[:len(text)-1]
	}
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, text := range lines {
		_, err := io.WriteString(w.in, text+"\n")
		require.NoError(w.t, err)
	}
}

// next returns the next line the server wrote.
func (w *wire) next() string {
	w.t.Helper()
	select {
	case text, open := <-w.lines:
		require.True(w.t, open, "the server ended its output")
		return text
	case <-time.After(hang):
		require.Fail(w.t, "the server says nothing")
		return ""
	}
}

// message is what a test looks at in a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (w *wire) nextMessage() message {
	w.t.Helper()
	var m message
	text := w.next()
	require.NoError(w.t, json.Unmarshal([]byte(text), &m), text)
	return m
}

// rest closes the input and returns what was still written, and Serve's error.
func (w *wire) rest() ([]string, error) {
	w.t.Helper()
	require.NoError(w.t, w.in.Close())
	return w.drained(), w.ended()
}

func (w *wire) drained() []string {
	var lines []string
	for text := range w.lines {
		lines = append(lines, text)
	}
	return lines
}

func (w *wire) ended() error {
	w.t.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(hang):
		require.Fail(w.t, "Serve does not return")
		return nil
	}
}

// toolResult is the result of a tools/call.
type toolResult struct {
	Content []struct{ Type, Text string } `json:"content"`
	Struct  json.RawMessage               `json:"structuredContent"`
	IsError bool                          `json:"isError"`
	Type    string                        `json:"resultType"`
	State   string                        `json:"requestState"`
	Input   map[string]json.RawMessage    `json:"inputRequests"`
}

func (m message) tool(t *testing.T) toolResult {
	t.Helper()
	var result toolResult
	require.Nil(t, m.Error, "%+v", m.Error)
	require.NoError(t, json.Unmarshal(m.Result, &result))
	return result
}

// ids returns the ids of messages, in order.
func ids(t *testing.T, lines []string) []string {
	t.Helper()
	var found []string
	for _, text := range lines {
		var m message
		require.NoError(t, json.Unmarshal([]byte(text), &m), text)
		found = append(found, string(m.ID))
	}
	return found
}

const (
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

const anyObject = `{"type":"object"}`

// tool returns a tool with what every tool needs.
func tool(name string, call func(context.Context, engines.Call, json.RawMessage) (any, error)) engines.Tool {
	return engines.Tool{Name: name, Title: "The " + name, Description: "Does " + name + ".",
		Input: json.RawMessage(anyObject), Call: call}
}

// registryOf returns a registry of tools whose bounds are out of the way of the
// server's own.
func registryOf(t testing.TB, tools ...engines.Tool) *engines.Registry {
	t.Helper()
	return loggedRegistry(t, nil, tools...)
}

func loggedRegistry(t testing.TB, logger *slog.Logger, tools ...engines.Tool) *engines.Registry {
	t.Helper()
	registry := engines.NewRegistry(engines.Options{Logger: logger, ResultLimit: mcpio.DefaultMaxLine})
	require.NoError(t, registry.AddEngine(engines.Engine{Name: "test", Concurrency: 10_000, OrderBy: "run_id"}))
	require.NoError(t, registry.Add(tools...))
	return registry
}

// options returns options for a server of tools.
func options(t testing.TB, tools ...engines.Tool) mcpio.Options {
	t.Helper()
	return mcpio.Options{Title: "Savant", Version: "1.0.0", Registry: registryOf(t, tools...)}
}

func echo() engines.Tool {
	return tool("test.echo", func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) { return args, nil })
}

// gate is a tool that reports that it runs and waits to be let through.
type gate struct {
	running chan string
	open    chan struct{}
}

func newGate() *gate { return &gate{running: make(chan string, 10_000), open: make(chan struct{})} }

func (g *gate) tool(name string) engines.Tool {
	return tool(name, func(ctx context.Context, _ engines.Call, args json.RawMessage) (any, error) {
		g.running <- string(args)
		select {
		case <-g.open:
			return map[string]any{"done": true}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// await returns what the tool was called with, once it runs.
func (g *gate) await(t *testing.T) string {
	t.Helper()
	select {
	case args := <-g.running:
		return args
	case <-time.After(hang):
		require.Fail(t, "the tool is not called")
		return ""
	}
}

// logBook keeps what a server logs.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBook) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

var errPlain = errors.New("the password is hunter2")

// failing are tools that go wrong, each in its way.
func failing() []engines.Tool {
	return []engines.Tool{
		tool("test.coded", func(context.Context, engines.Call, json.RawMessage) (any, error) {
			return nil, fault.New(fault.StateConflict, "expected version v12, found v13").
				With(fault.Diagnostic{Path: "version", Message: "is v13"})
		}),
		tool("test.plain", func(context.Context, engines.Call, json.RawMessage) (any, error) { return nil, errPlain }),
		tool("test.panic", func(context.Context, engines.Call, json.RawMessage) (any, error) { panic("the password is hunter2") }),
		tool("test.unmarshalable", func(context.Context, engines.Call, json.RawMessage) (any, error) {
			return map[string]any{"f": func() {}}, nil
		}),
		tool("test.marshalpanic", func(context.Context, engines.Call, json.RawMessage) (any, error) { return explosive{}, nil }),
	}
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("the password is hunter2") }
