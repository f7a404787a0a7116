// Package mcpclient is a client of MCP servers, on a pair of streams or by
// Streamable HTTP: for Savant's own commands and for the servers that are
// mounted. Protocol revisions 2024-11-05 to 2026-07-28 are spoken.
package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// DefaultMaxLine is the length in bytes up to which a message is read: 32 MiB.
const DefaultMaxLine = 32 << 20

// Options say who the client is and what it can do.
type Options struct {
	// Name defaults to "savant", to which Savant's server lists dotted names.
	Name, Version string
	// Elicit puts a server's question to the user. Nil means that the client
	// cannot, and it says so. It may be called by several goroutines at once;
	// its context ends with the connection.
	Elicit func(context.Context, engines.Elicitation) (engines.Answer, error)
	// ToolsChanged is called when the server says that its tools changed. It
	// must return at once.
	ToolsChanged func()
	// MaxLine is the longest message read, in bytes; zero means DefaultMaxLine.
	MaxLine int
}

// Client is connected to one MCP server. It is safe for concurrent use. Its
// errors are coded: ENGINE_OFFLINE when the server is gone or the context ended,
// else what the server said.
type Client struct {
	options Options
	link    link
	// life is the context of questions to the user; it ends with the connection.
	life context.Context
	end  context.CancelFunc

	// greeting is what the server said of itself; nil before it was greeted.
	greeting *greeting

	// tokens counts progress tokens; reports holds the callbacks, by token.
	tokens  atomic.Int64
	reports sync.Map
}

// link carries messages to one server and its replies back. ask and tell may be
// called by several goroutines at once; their errors are ENGINE_OFFLINE when the
// server is gone or ctx ended first.
type link interface {
	// ask sends a request and returns the reply. When ctx ends first, the server
	// is told that the request is cancelled.
	ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error)
	tell(ctx context.Context, method string, params map[string]any) error
	// agree sets the revision that is spoken from now on.
	agree(version string)
	// close ends the link; ended is closed once nothing more can come.
	close() error
	ended() <-chan struct{}
}

// ErrSessionOver is the cause of an ENGINE_OFFLINE of a server over HTTP that does
// not know the session any more. It did nothing of what was asked, and has to be
// connected to again. Its tools may have changed.
var ErrSessionOver = errors.New("the server has forgotten the session")

// newClient returns a client without its link.
func newClient(ctx context.Context, options Options) *Client {
	options.Name = cmp.Or(options.Name, "savant")
	options.MaxLine = cmp.Or(max(options.MaxLine, 0), DefaultMaxLine)
	c := &Client{options: options}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// Connect greets the server whose standard input and output are given. ctx
// bounds the greeting alone; the connection lasts until stdout ends, which
// Close brings about. A server that does not greet back has its input closed;
// ending its process is the caller's.
func Connect(ctx context.Context, stdin io.WriteCloser, stdout io.Reader, options Options) (*Client, error) {
	c := newClient(ctx, options)
	c.link = openStream(c, stdin, stdout)
	if err := c.greet(ctx); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	return c, nil
}

// ServerInfo returns the name and version of the server, and the protocol
// revision that was agreed on.
func (c *Client) ServerInfo() (name, version, protocol string) {
	told := c.greeting
	return told.ServerInfo.Name, told.ServerInfo.Version, told.ProtocolVersion
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.link.ended() }

// Close ends the connection: a stream's server has its input closed and five
// seconds to end its output, else the error is ENGINE_OFFLINE.
func (c *Client) Close() error { return c.link.close() }

// Ping asks the server whether it still answers.
func (c *Client) Ping(ctx context.Context) error {
	return c.request(ctx, string(mcp.MethodPing), nil, &struct{}{})
}

// request sends one request and decodes its result into result.
func (c *Client) request(ctx context.Context, method string, params map[string]any, result any) error {
	answer, err := c.link.ask(ctx, method, c.enveloped(c.greeting, params))
	if err != nil {
		return err
	}
	return decodeReply(answer, result)
}

// enveloped adds to params what a revision without initialize wants in every
// request: who sends it and what it can do.
func (c *Client) enveloped(told *greeting, params map[string]any) map[string]any {
	if told == nil || !mcp.IsModernProtocol(told.ProtocolVersion) {
		return params
	}
	meta := map[string]any{
		mcp.MetaKeyProtocolVersion:    told.ProtocolVersion,
		mcp.MetaKeyClientCapabilities: c.capabilities(),
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

// decodeReply reads a reply: its result, or the coded error within its error.
func decodeReply(m *jsonrpc.Message, result any) error {
	if m.Error == nil {
		if len(m.Result) == 0 || bytes.Equal(m.Result, []byte("null")) {
			return fault.New(fault.ToolFailed, "the server's reply is not what the protocol says: it has neither a result nor an error")
		}
		if err := decode(m.Result, result); err != nil {
			return fault.New(fault.ToolFailed, "the server's reply is not what the protocol says: %s", misfit(err))
		}
		return nil
	}
	failure := new(rpcError)
	if err := decode(m.Error, failure); err != nil {
		return fault.New(fault.ToolFailed, "the server's error is not what the protocol says: %s", misfit(err))
	}
	if coded := new(fault.Error); json.Unmarshal(failure.Data, coded) == nil && coded.Code != "" {
		return coded
	}
	return fault.New(fault.ToolFailed, "%w", failure)
}

// rpcError is a JSON-RPC error as it came.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code)
}

// decode reads what a server said into a Go value. Names are compared letter
// by letter. Each byte that is not UTF-8 becomes U+FFFD: some servers write
// another encoding.
func decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		data = []byte(string(bytes.Runes(data)))
	}
	return jsonvalue.Unmarshal(data, into)
}

// misfit says in the protocol's terms what an answer has in the wrong place.
func misfit(err error) string {
	var wrong *jsonvalue.Misfit
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Pointer == "":
		return "it is " + wrong.Kind + ", not an object"
	default:
		return strings.ReplaceAll(strings.TrimPrefix(wrong.Pointer, "/"), "/", ".") + " is " + wrong.Kind
	}
}
