package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
)

// closeGrace is how long Close waits for the server to end its output.
const closeGrace = 5 * time.Second

// ClientOptions say who the client is and what it can do.
type ClientOptions struct {
	// Name defaults to "savant", which servers of this package list dotted
	// names to.
	Name, Version string
	// Elicit puts a server's question to the user. Nil means that the client
	// cannot, and it says so. It may be called by several goroutines at once;
	// its context ends with the connection.
	Elicit func(context.Context, engines.Elicitation) (engines.Answer, error)
}

// Client is connected to one MCP server over its standard streams. It is safe
// for concurrent use. Its errors are coded: ENGINE_OFFLINE when the server is
// gone or the context ended, what the server said otherwise.
type Client struct {
	options ClientOptions
	lines   lineWriter
	input   io.Closer
	waiting questions
	// life is the context of questions to the user; it ends with the output.
	life     context.Context
	end      context.CancelFunc
	greeting greeting
}

// greeting is the result of initialize.
type greeting struct {
	ProtocolVersion string `json:"protocolVersion"`
	ServerInfo      struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"serverInfo"`
	Instructions string `json:"instructions"`
}

// Connect greets the server whose standard input and output are given. ctx
// bounds the greeting alone; the connection lasts until stdout ends, which
// Close brings about. A server that does not greet back has its input closed;
// ending its process is the caller's.
func Connect(ctx context.Context, stdin io.WriteCloser, stdout io.Reader, options ClientOptions) (*Client, error) {
	if options.Name == "" {
		options.Name = "savant"
	}
	c := &Client{options: options, lines: lineWriter{out: stdin}, input: stdin}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	go c.receive(newLineReader(stdout, DefaultMaxLine))
	capabilities := map[string]any{}
	if options.Elicit != nil {
		capabilities["elicitation"] = map[string]any{}
	}
	err := c.request(ctx, string(mcp.MethodInitialize), map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION,
		"capabilities":    capabilities,
		"clientInfo":      map[string]any{"name": options.Name, "version": options.Version},
	}, &c.greeting)
	if err == nil {
		err = c.write(notification{JSONRPC: mcp.JSONRPC_VERSION, Method: string(mcp.MethodNotificationInitialized)})
	}
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	return c, nil
}

// Instructions returns what the server tells every model that uses it.
func (c *Client) Instructions() string { return c.greeting.Instructions }

// ServerInfo returns the name and version the server gives itself, and the
// protocol revision that was agreed on.
func (c *Client) ServerInfo() (name, version, protocol string) {
	return c.greeting.ServerInfo.Name, c.greeting.ServerInfo.Version, c.greeting.ProtocolVersion
}

// Close closes the server's input and waits until it has ended its output. A
// server that does not within five seconds is ENGINE_OFFLINE.
func (c *Client) Close() error {
	err := c.input.Close()
	select {
	case <-c.life.Done():
		return err
	case <-time.After(closeGrace):
		return fault.New(fault.EngineOffline, "the server did not end within %s of its input", closeGrace)
	}
}

// receive routes what the server sends until its output ends.
func (c *Client) receive(in *lineReader) {
	defer c.end()
	for {
		data, err := in.next()
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
		m := message{raw: data}
		if len(data) == 0 || json.Unmarshal(data, &m) != nil {
			continue
		}
		switch {
		case m.isResponse():
			c.waiting.settle(&m)
		case !m.isNotification():
			go c.answer(&m)
		}
	}
}

// answer serves a request of the server: a question to the user, or a ping.
func (c *Client) answer(m *message) {
	reply := errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: m.Method + " is not supported"})
	switch {
	case m.Method == string(mcp.MethodPing):
		reply = resultReply(m.ID, struct{}{})
	case m.Method == string(mcp.MethodElicitationCreate) && c.options.Elicit != nil:
		reply = c.putToUser(m)
	}
	// A server that is gone needs no answer; who waits for it learns from life.
	_ = c.write(reply)
}

func (c *Client) putToUser(m *message) *reply {
	var asked struct {
		Params struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	}
	if err := json.Unmarshal(m.raw, &asked); err != nil {
		return errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_PARAMS, Message: err.Error()})
	}
	answer, err := c.options.Elicit(c.life, engines.Elicitation{Message: asked.Params.Message, Schema: asked.Params.Schema})
	if err != nil {
		coded := fault.From(err)
		return errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: coded.Error(), Data: coded})
	}
	result := map[string]any{"action": answer.Action}
	if answer.Content != nil {
		result["content"] = answer.Content
	}
	return resultReply(m.ID, result)
}

func (c *Client) write(value any) error {
	data, err := encodeLine(value)
	if err != nil {
		return fault.New(fault.InvalidParams, "the message does not marshal: %w", err)
	}
	if err := c.lines.write(data); err != nil {
		return fault.New(fault.EngineOffline, "the server no longer reads: %w", err)
	}
	return nil
}

// request sends one request and decodes its result into result. When ctx ends
// first the server is told that nobody waits any more.
func (c *Client) request(ctx context.Context, method string, params, result any) error {
	id, answer := c.waiting.open()
	defer c.waiting.forget(id)
	if err := c.write(outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Method: method, Params: params}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		return decodeReply(m, result)
	case <-c.life.Done():
		select { // the last line may have been the answer
		case m := <-answer:
			return decodeReply(m, result)
		default:
			return fault.New(fault.EngineOffline, "the server ended before it answered %s", method)
		}
	case <-ctx.Done():
		cancelled := c.write(notification{JSONRPC: mcp.JSONRPC_VERSION,
			Method: string(mcp.MethodNotificationCancelled), Params: map[string]any{"requestId": id}})
		return errors.Join(fault.New(fault.EngineOffline, "%s was not answered: %w", method, context.Cause(ctx)), cancelled)
	}
}

// decodeReply reads a reply: its result, or the coded error within its error.
func decodeReply(m *message, result any) error {
	if m.Error == nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fault.New(fault.ToolFailed, "the server's reply is not what the protocol says: %w", err)
		}
		return nil
	}
	var failure struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.Error, &failure); err != nil {
		return fault.New(fault.ToolFailed, "the server's error is not what the protocol says: %w", err)
	}
	if coded := new(fault.Error); json.Unmarshal(failure.Data, coded) == nil && coded.Code != "" {
		return coded
	}
	return fault.New(fault.ToolFailed, "%s (JSON-RPC error %d)", failure.Message, failure.Code)
}
