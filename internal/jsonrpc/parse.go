package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"savant/internal/jsonvalue"
)

// Parse parses one message. For an invalid one it returns the error reply.
func Parse(data []byte) (*Message, *Reply) {
	if !json.Valid(data) {
		err := json.Unmarshal(data, new(json.RawMessage))
		return nil, Fail(NoID, ParseError, fmt.Sprintf("this line is not JSON: %v", err), nil)
	}
	m, version, err := read(data)
	switch {
	case err != nil:
		return nil, Refuse(data, err)
	case jsonvalue.Text(version) != Version:
		return nil, Fail(readableID(data), InvalidRequest, `"jsonrpc" is not "2.0"`+nearMiss(data, "jsonrpc"), nil)
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return nil, Fail(readableID(data), InvalidRequest, `"method" is missing`+nearMiss(data, "method"), nil)
	case !utf8.Valid(m.ID): // a reply with this id would not be valid JSON
		return nil, Fail(NoID, InvalidRequest, `"id" is not UTF-8`, nil)
	case m.ID != nil && !ValidID(m.ID):
		return nil, Fail(NoID, InvalidRequest, `"id" is neither a string nor a number`, nil)
	}
	return m, nil
}

// Refuse returns the error reply to a message that violates the protocol.
func Refuse(data []byte, err error) *Reply {
	return Fail(readableID(data), InvalidRequest, "this is not a JSON-RPC message: "+err.Error(), nil)
}

// Read is the lenient Parse of a client: some servers print other text to their output
// or have no text as "jsonrpc".
func Read(data []byte) (*Message, error) {
	if !json.Valid(data) {
		return nil, errors.New("it is not JSON")
	}
	m, _, err := read(data)
	return m, err
}

// read reads a message of valid JSON and its version.
func read(data []byte) (m *Message, version json.RawMessage, err error) {
	m = &Message{Raw: data}
	if kind := Kind(data); kind != "object" {
		return m, nil, fmt.Errorf("it is %s, not an object", kind)
	}
	err = ReadObject(data, "", map[string]any{"jsonrpc": &version, "id": &m.ID, "method": &m.Method, "params": &m.Params,
		"result": &m.Result, "error": &m.Error})
	if Kind(m.Error) == "null" { // some servers write both members
		m.Error = nil
	}
	return m, version, err
}

// ReadObject reads members of a valid JSON object into the variables of into: a
// *json.RawMessage takes any value as received, a *string takes a text or null. Names
// are case-sensitive. A duplicate member is refused, since its meaning is ambiguous.
// within is the path of the object for errors.
func ReadObject(object json.RawMessage, within string, into map[string]any) error {
	seen := make(map[string]bool, len(into))
	for name, value := range jsonvalue.Members(object) {
		target, wanted := into[name]
		switch {
		case !wanted:
			continue
		case seen[name]:
			return fmt.Errorf("%s%s appears twice", within, name)
		}
		seen[name] = true
		kind := Kind(value)
		switch to := target.(type) {
		case *json.RawMessage:
			*to = value
		case *string:
			if kind != "string" && kind != "null" {
				return fmt.Errorf("%s%s is %s", within, name, kind)
			}
			*to = jsonvalue.Text(value)
		}
	}
	return nil
}

// Kind returns the type of a JSON value, "" for an empty text.
func Kind(raw json.RawMessage) string {
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

// nearMiss returns the member that differs from a missing one only in case.
func nearMiss(object json.RawMessage, name string) string {
	for sent := range jsonvalue.Members(object) {
		if sent != name && strings.EqualFold(sent, name) {
			return fmt.Sprintf("; %q was sent, and names are case-sensitive", sent)
		}
	}
	return ""
}

// readableID returns the id of an invalid message, so that a client that waits for the
// reply gets one.
func readableID(data []byte) json.RawMessage {
	if id := json.RawMessage(jsonvalue.Member(data, "id")); ValidID(id) {
		return id
	}
	return NoID
}

// ValidID reports whether a raw id is a string or a number, as MCP requires, that can
// be sent back.
func ValidID(id json.RawMessage) bool {
	kind := Kind(id)
	return (kind == "string" || kind == "number") && utf8.Valid(id)
}
