// Package jsonrpc reads and writes JSON-RPC 2.0 messages, one a line, for the MCP
// server and the MCP client. Forwarded parts stay raw, so that numbers keep their
// digits and nothing is decoded twice.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"savant/internal/jsonvalue"
)

// Version is the supported version of JSON-RPC.
const Version = "2.0"

// The error codes of JSON-RPC. NotBegun is Savant's own, in the range that JSON-RPC
// reserves for servers: the request was not started because the server is stopping or
// overloaded.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	NotBegun       = -32000
)

// Message is one message as it was received. Its parts share the memory of the
// line.
type Message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
	// Raw is the whole message.
	Raw json.RawMessage
}

// IsResponse reports whether the message is a response.
func (m *Message) IsResponse() bool { return m.Method == "" }

// IsNotification reports whether the message is a notification.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// Request is a request to the peer.
type Request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  any             `json:"params,omitempty"`
}

// Notification is a notification to the peer.
type Notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// Notify returns a notification.
func Notify(method string, params any) Notification {
	return Notification{JSONRPC: Version, Method: method, Params: params}
}

// Reply answers one request.
type Reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is the error of a failed request.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// NoID is the id of a reply to a message whose own id could not be read.
var NoID = json.RawMessage("null")

// Succeed returns a successful reply.
func Succeed(id json.RawMessage, result any) *Reply {
	return &Reply{JSONRPC: Version, ID: id, Result: result}
}

// Fail returns an error reply; data may be nil.
func Fail(id json.RawMessage, code int, message string, data any) *Reply {
	return &Reply{JSONRPC: Version, ID: id, Error: &Error{code, message, data}}
}

// Encode returns a message as JSON on one line, without its end; nil for none. Raw parts are
// compacted, so a line end within them cannot break the framing. Bytes that are not UTF-8
// are replaced, since JSON is UTF-8 (RFC 8259, section 8.1).
func Encode(message any) (json.RawMessage, error) {
	if message == nil {
		return nil, nil
	}
	line, err := jsonvalue.Encode(message)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	return line, nil
}
