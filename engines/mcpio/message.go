package mcpio

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is one JSON-RPC message as received. Everything that is only passed
// on stays raw: numbers keep their digits, and nothing is decoded twice.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  params          `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	// raw is the whole message.
	raw json.RawMessage
}

// params are the parameters this package reads itself, of any method.
type params struct {
	Meta           json.RawMessage            `json:"_meta"`
	Name           json.RawMessage            `json:"name"`
	URI            json.RawMessage            `json:"uri"`
	Arguments      json.RawMessage            `json:"arguments"`
	RequestID      json.RawMessage            `json:"requestId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	RequestState   string                     `json:"requestState"`
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

// parseMessage reads one message; what cannot be served is returned as the
// reply that says so.
func parseMessage(data []byte) (*message, *reply) {
	m := message{raw: data}
	if err := json.Unmarshal(data, &m); err != nil {
		if !json.Valid(data) {
			return nil, errorReply(noID, &mcp.JSONRPCErrorDetails{
				Code: mcp.PARSE_ERROR, Message: "this line is not JSON: " + err.Error()})
		}
		return nil, invalidRequest(readableID(data), "this is not a JSON-RPC message: "+misfit(err))
	}
	switch {
	case m.JSONRPC != mcp.JSONRPC_VERSION:
		return nil, invalidRequest(readableID(data), `"jsonrpc" is not "2.0"`)
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return nil, invalidRequest(readableID(data), `"method" is missing`)
	case m.ID != nil && !validID(m.ID):
		return nil, invalidRequest(noID, `"id" is neither a string nor a number`)
	}
	return &m, nil
}

// misfit says in the protocol's terms what a message has in the wrong place.
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

func invalidRequest(id json.RawMessage, text string) *reply {
	return errorReply(id, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_REQUEST, Message: text})
}

// readableID returns the id of a message that is otherwise wrong, so that a
// client waiting for it learns so.
func readableID(data []byte) json.RawMessage {
	var only struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(data, &only) != nil || !validID(only.ID) {
		return noID
	}
	return only.ID
}

// validID tells whether a raw id is a string or a number, as MCP asks.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || (id[0] >= '0' && id[0] <= '9'))
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
// parts are compacted, so a newline within them cannot break the framing.
func encodeLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}
