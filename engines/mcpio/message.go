package mcpio

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is one JSON-RPC message as received, see readMessage. Everything that
// is only passed on stays raw: numbers keep their digits, and nothing is decoded
// twice.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  params
	Result  json.RawMessage
	Error   json.RawMessage
	// raw is the whole message.
	raw json.RawMessage
}

// params are the parameters this package reads itself, of any method.
type params struct {
	Meta           json.RawMessage
	Name           json.RawMessage
	URI            json.RawMessage
	Arguments      json.RawMessage
	RequestID      json.RawMessage
	InputResponses map[string]json.RawMessage
	RequestState   string
}

// reply answers one request.
type reply struct {
	JSONRPC string                   `json:"jsonrpc"`
	ID      json.RawMessage          `json:"id"`
	Result  any                      `json:"result,omitempty"`
	Error   *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
}

// noID is the id of a reply to a message whose own could not be read.
var noID = json.RawMessage("null")

func resultReply(id json.RawMessage, result any) *reply {
	return &reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: result}
}

func errorReply(id json.RawMessage, failure *mcp.JSONRPCErrorDetails) *reply {
	return &reply{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: failure}
}

// misfit says in the protocol's terms what an answer has in the wrong place.
func misfit(err error) string {
	var unfit *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &unfit):
		return err.Error()
	case unfit.Field == "":
		return "it is " + unfit.Value + ", not an object"
	default:
		return unfit.Field + " is " + unfit.Value
	}
}

func (m *message) isResponse() bool { return m.Method == "" }

func (m *message) isNotification() bool { return m.Method != "" && m.ID == nil }

// text returns a raw JSON string's value, and whether it is a string.
func text(raw json.RawMessage) (string, bool) {
	var value string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	return value, true
}

// encodeLine returns a value as one line of JSON, its newline included. Raw
// parts are compacted, so a newline within them cannot break the framing; what is
// not UTF-8 in them is replaced, as JSON is UTF-8 (RFC 8259, section 8.1).
func encodeLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	if !utf8.Valid(line.Bytes()) {
		return bytes.ToValidUTF8(line.Bytes(), []byte("\uFFFD")), nil
	}
	return line.Bytes(), nil
}
