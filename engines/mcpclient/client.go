// Package mcpclient is a client for MCP servers over a pair of streams or Streamable
// HTTP, protocol revisions 2024-11-05 to 2026-07-28. Savant's commands and the mounted
// servers use it.
package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
)

// DefaultMaxLine is the default maximum length of a message: 32 MiB.
const DefaultMaxLine = 32 << 20

// Options describe the client and its capabilities.
type Options struct {
	// Name defaults to "savant", for which Savant's server lists dotted names.
	Name, Version string
	// ToolsChanged is called when the server announces that its tools changed. It must
	// not block.
	ToolsChanged func()
	// Logger gets the lines of a server that are no message, without what Hidden hides;
	// nil discards them. Hidden may be nil.
	Logger *slog.Logger
	Hidden *redact.Redactor
	// MaxLine is the maximum length of a message in bytes; 0 means DefaultMaxLine.
	MaxLine int
}

// Client is a connection to one MCP server. It is safe for concurrent use. Its errors
// are coded: ENGINE_OFFLINE if the server is gone or the context ended, else the
// server's error.
type Client struct {
	options Options
	link    link
	// life is the context of questions to the user; it ends with the connection.
	life context.Context
	end  context.CancelFunc

	// serverInfo describes the server; nil before connect has succeeded.
	server *serverInfo

	// tokens numbers the progress tokens; reports holds their callbacks.
	tokens  atomic.Int64
	reports sync.Map
	// replies counts the answers to the server that are being computed or sent, logged the
	// parts that are no message.
	replies, logged atomic.Int64
}

// link carries messages to one server and back. ask and notify may be called
// concurrently; their errors are ENGINE_OFFLINE if the server is gone or ctx ended.
type link interface {
	// ask sends a request and returns the reply. If ctx ends first, it cancels the
	// request at the server.
	ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error)
	notify(ctx context.Context, sent jsonrpc.Notification) error
	// startWork runs work in the background, unless the connection has ended; respond sends an
	// answer to the server.
	startWork(work func())
	respond(answer *jsonrpc.Reply)
	// agree sets the protocol revision for all further messages.
	agree(version string)
	// close ends the link; ended is closed when no more messages can come.
	close() error
	ended() <-chan struct{}
}

// ErrSessionOver is the cause of ENGINE_OFFLINE if a server over HTTP no longer knows
// the session. The request had no effect. The client must connect again, and the tools
// may have changed.
var ErrSessionOver = errors.New("the server no longer knows the session")

// newClient returns a client without its link.
func newClient(ctx context.Context, options Options) *Client {
	options.Name = cmp.Or(options.Name, "savant")
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	options.MaxLine = cmp.Or(max(options.MaxLine, 0), DefaultMaxLine)
	c := &Client{options: options}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// Connect initializes a connection to the server with the given standard input and
// output. ctx bounds the initialization only; the connection lasts until stdout ends or
// Close. If the initialization fails, Connect closes stdin; the caller ends the
// process.
func Connect(ctx context.Context, stdin io.WriteCloser, stdout io.Reader, options Options) (*Client, error) {
	c := newClient(ctx, options)
	openStream(c, stdin, stdout)
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	return c, nil
}

// Start starts a program and connects to it; Connect has the errors, and one that does not
// start is ENGINE_OFFLINE. Who calls it closes the client, and then waits for the program.
func Start(ctx context.Context, program *exec.Cmd, options Options) (*Client, error) {
	stdin, err := program.StdinPipe()
	if err != nil {
		return nil, fault.New(fault.EngineOffline, "%w", err)
	}
	stdout, err := program.StdoutPipe()
	if err != nil {
		return nil, fault.New(fault.EngineOffline, "%w", err)
	}
	if err := program.Start(); err != nil {
		return nil, fault.New(fault.EngineOffline, "%s does not start: %w", program.Path, err)
	}
	client, err := Connect(ctx, stdin, stdout, options)
	if err != nil {
		_ = program.Wait() // why it did not answer is the cause
	}
	return client, err
}

// Ask calls a tool and decodes its result.
func (c *Client) Ask(ctx context.Context, tool string, args, into any) error {
	raw, err := c.Call(ctx, tool, args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.Internal, "the answer of %s cannot be read: %w", tool, err)
	}
	return nil
}

// ServerInfo returns the server's name and version, and the negotiated protocol
// revision.
func (c *Client) ServerInfo() (name, version, protocol string) {
	return c.server.name, c.server.version, c.server.protocol
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.link.ended() }

// Close ends the connection. It closes a stream server's input and waits five seconds
// for the end of its output, else the error is ENGINE_OFFLINE.
func (c *Client) Close() error { return c.link.close() }

// Ping asks the server whether it still answers.
func (c *Client) Ping(ctx context.Context) error {
	return c.request(ctx, string(mcp.MethodPing), nil, &struct{}{})
}

// request sends one request and decodes its result into result.
func (c *Client) request(ctx context.Context, method string, params map[string]any, result any) error {
	answer, err := c.link.ask(ctx, method, c.enveloped(c.server, params))
	if err != nil {
		return err
	}
	return decodeReply(answer, result)
}

// enveloped adds the _meta that revisions without initialize require in every request:
// the client's name and capabilities.
func (c *Client) enveloped(server *serverInfo, params map[string]any) map[string]any {
	if server == nil || !mcp.IsModernProtocol(server.protocol) {
		return params
	}
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion:    server.protocol,
		mcp.MetaKeyClientCapabilities: struct{}{},
		mcp.MetaKeyClientInfo:         map[string]any{"name": c.options.Name, "version": c.options.Version},
	}
	if own, has := params["_meta"].(map[string]any); has {
		maps.Copy(meta, own)
	}
	full := maps.Clone(params)
	if full == nil {
		full = map[string]any{}
	}
	full["_meta"] = meta
	return full
}

// printable returns a server's text as errors and logs show it.
func (c *Client) printable(text []byte) string {
	plain := string(text[:min(len(text), 4*maxEcho)])
	if c.options.Hidden != nil {
		plain = c.options.Hidden.Text(plain)
	}
	return fault.Cut(plain, maxEcho)
}

// decodeReply decodes the result of a reply, or returns its error as a coded one.
func decodeReply(m *jsonrpc.Message, result any) error {
	switch {
	case m.Error != nil:
		if coded := new(fault.Error); json.Unmarshal(jsonvalue.Member(m.Error, "data"), coded) == nil && coded.Code != "" {
			return coded
		}
		return fault.New(fault.ToolFailed, "%w", rpcError(m.Error))
	case len(m.Result) == 0 || bytes.Equal(m.Result, []byte("null")):
		return fault.New(fault.ToolFailed, "the server's reply is not valid MCP: it has neither a result nor an error")
	}
	if err := decode(m.Result, result); err != nil {
		return fault.New(fault.ToolFailed, "the server's reply is not valid MCP: %s", describeMismatch(err))
	}
	return nil
}

// rpcError is a JSON-RPC error as received: an object with a code and a message, or what a
// server sends in its place.
type rpcError json.RawMessage

// maxErrorData bounds how much of an error's data is shown, in bytes.
const maxErrorData = 500

func (e rpcError) Error() string {
	message, code, data := plain(jsonvalue.Member(e, "message")), plain(jsonvalue.Member(e, "code")), plain(jsonvalue.Member(e, "data"))
	if message == "" {
		return "the server's error is " + string(e)
	}
	if code != "" {
		message += " (JSON-RPC error " + code + ")"
	}
	if data != "" {
		message += ": " + fault.Cut(data, maxErrorData)
	}
	return message
}

// plain returns a text as it is, another value as its JSON, and null as "".
func plain(raw json.RawMessage) string {
	if text := jsonvalue.Text(raw); text != "" || len(raw) == 0 || raw[0] == '"' || raw[0] == 'n' {
		return text
	}
	return string(raw)
}

// decode decodes a server's JSON into a Go value. Names are case-sensitive, and the last of
// two members with one name counts. Each byte that is not UTF-8 becomes U+FFFD, since some
// servers use another encoding.
func decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		data = []byte(string(bytes.Runes(data)))
	}
	return jsonvalue.UnmarshalStored(data, into)
}

// optional is a member that a server may leave out. A value of another type counts as left out.
type optional[T any] struct{ value T }

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (o *optional[T]) UnmarshalJSON(raw []byte) error {
	var given T
	if decode(raw, &given) == nil {
		o.value = given
	}
	return nil
}

// describeMismatch returns, in the protocol's terms, which part of an answer has the wrong type.
func describeMismatch(err error) string {
	var wrong *jsonvalue.Mismatch
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Pointer == "":
		return "it is " + wrong.Kind + ", not an object"
	default:
		return strings.ReplaceAll(strings.TrimPrefix(wrong.Pointer, "/"), "/", ".") + " is " + wrong.Kind
	}
}
