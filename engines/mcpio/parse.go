package mcpio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/internal/jsonvalue"
)

// Names are taken as JSON has them: letter by letter, and each but once.
// encoding/json would take "Method" for "method", and the last of two, so that
// whoever reads the message before could have seen another one.

// field is a member that is read, by its name, and where to.
type field struct {
	name string
	to   *json.RawMessage
}

// mistake says what of a message is not as the protocol has it.
type mistake string

func (m mistake) Error() string { return string(m) }

// parseMessage reads one message; what cannot be served is returned as the
// reply that says so. The message shares the memory of data.
func parseMessage(data []byte) (*message, *reply) {
	if !json.Valid(data) {
		err := json.Unmarshal(data, new(json.RawMessage))
		return nil, errorReply(noID, &mcp.JSONRPCErrorDetails{
			Code: mcp.PARSE_ERROR, Message: fmt.Sprintf("this line is not JSON: %v", err)})
	}
	m, err := readMessage(data)
	switch {
	case err != nil:
		return nil, invalidRequest(readableID(data), "this is not a JSON-RPC message: "+err.Error())
	case m.JSONRPC != mcp.JSONRPC_VERSION:
		return nil, invalidRequest(readableID(data), `"jsonrpc" is not "2.0"`+otherwise(data, "jsonrpc"))
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return nil, invalidRequest(readableID(data), `"method" is missing`+otherwise(data, "method"))
	case !utf8.Valid(m.ID): // a reply with it would be no JSON
		return nil, invalidRequest(noID, `"id" is not UTF-8`)
	case m.ID != nil && !validID(m.ID):
		return nil, invalidRequest(noID, `"id" is neither a string nor a number`)
	}
	return m, nil
}

// readMessage reads a message of JSON that is known to be valid.
func readMessage(data []byte) (*message, error) {
	if kind := kindOf(data); kind != "object" {
		return nil, mistake("it is " + kind + ", not an object")
	}
	m := &message{raw: data}
	var version, method, given json.RawMessage
	err := read(data, "", []field{{"jsonrpc", &version}, {"id", &m.ID}, {"method", &method}, {"params", &given},
		{"result", &m.Result}, {"error", &m.Error}})
	if err == nil {
		err = readText(version, "jsonrpc", &m.JSONRPC)
	}
	if err == nil {
		err = readText(method, "method", &m.Method)
	}
	if err == nil {
		err = m.Params.read(given)
	}
	return m, err
}

// read reads the parameters that this package knows.
func (p *params) read(given json.RawMessage) error {
	switch kind := kindOf(given); kind {
	case "", "null":
		return nil
	case "object":
	default:
		return mistake("params is " + kind)
	}
	var responses, state json.RawMessage
	if err := read(given, "params.", []field{{"_meta", &p.Meta}, {"name", &p.Name}, {"uri", &p.URI}, {"arguments", &p.Arguments},
		{"requestId", &p.RequestID}, {"inputResponses", &responses}, {"requestState", &state}}); err != nil {
		return err
	}
	switch kind := kindOf(responses); kind {
	case "", "null":
	case "object":
		p.InputResponses = map[string]json.RawMessage{}
		for name, value := range jsonvalue.Members(responses) {
			p.InputResponses[jsonvalue.Text(name)] = value
		}
	default:
		return mistake("params.inputResponses is " + kind)
	}
	return readText(state, "params.requestState", &p.RequestState)
}

// read takes the members of an object that fields name. One that is there twice
// is refused: nobody can know which is meant.
func read(object json.RawMessage, within string, fields []field) error {
	for name, value := range jsonvalue.Members(object) {
		for i := range fields {
			if !jsonvalue.IsName(name, fields[i].name) {
				continue
			}
			if *fields[i].to != nil {
				return mistake(within + fields[i].name + " is there twice")
			}
			*fields[i].to = value[:len(value):len(value)]
			break
		}
	}
	return nil
}

// readText takes a string; nothing and null are an empty one.
func readText(raw json.RawMessage, name string, to *string) error {
	switch kind := kindOf(raw); kind {
	case "", "null":
		return nil
	case "string":
		*to = jsonvalue.Text(raw)
		return nil
	default:
		return mistake(name + " is " + kind)
	}
}

// kindOf names the type of a JSON value, empty for nothing.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// otherwise says what was likely meant for a member that is missing.
func otherwise(object json.RawMessage, name string) string {
	for sent := range jsonvalue.Members(object) {
		if text := jsonvalue.Text(sent); text != name && strings.EqualFold(text, name) {
			return fmt.Sprintf("; %q was sent, and names are told apart by the case of their letters", text)
		}
	}
	return ""
}

func invalidRequest(id json.RawMessage, text string) *reply {
	return errorReply(id, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_REQUEST, Message: text})
}

// readableID returns the id of a message that is otherwise wrong, so that a
// client waiting for it learns so.
func readableID(data []byte) json.RawMessage {
	id := json.RawMessage(jsonvalue.Member(data, "id"))
	if !validID(id) {
		return noID
	}
	return id
}

// validID tells whether a raw id is a string or a number, as MCP asks, that can be
// sent back.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && utf8.Valid(id) && (id[0] == '"' || id[0] == '-' || (id[0] >= '0' && id[0] <= '9'))
}

// protocolNames are the members of messages and parameters that mcp-go reads,
// in any letters.
var protocolNames = []string{"jsonrpc", "id", "method", "params", "result", "error", "_meta", "protocolVersion", "capabilities", "clientInfo",
	"cursor", "ref", "argument", "context", "level", "uri", "name", "arguments", "notifications"}

// exact returns an object without the members that mcp-go would take for others:
// those whose names are others' in other letters.
func exact(object json.RawMessage) json.RawMessage {
	var kept bytes.Buffer
	dropped := false
	for name, value := range jsonvalue.Members(object) {
		if isDisguised(jsonvalue.Text(name)) {
			dropped = true
			continue
		}
		if jsonvalue.IsName(name, "params") {
			cleaned := exact(value)
			dropped = dropped || len(cleaned) != len(value)
			value = cleaned
		}
		if kept.Len() > 0 {
			kept.WriteByte(',')
		}
		kept.Write(name)
		kept.WriteByte(':')
		kept.Write(value)
	}
	if !dropped {
		return object
	}
	return append(append([]byte{'{'}, kept.Bytes()...), '}')
}

func isDisguised(name string) bool {
	for _, known := range protocolNames {
		if name != known && strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}
