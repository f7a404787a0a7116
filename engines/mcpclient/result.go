package mcpclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/schemas"
)

// CallResult is the result of a tool. Every block of Content is an object with a type, and
// Structured is an object or empty.
type CallResult struct {
	Content    []json.RawMessage
	Structured json.RawMessage
	IsError    bool
}

// notFailed are the values of isError that mean no failure, as texts in small letters.
var notFailed = []string{"", "false", "0"}

// newCallResult reads a result also where it has not the form of the protocol: what the
// server gave is never lost. A value where blocks are expected is a text; the members of a
// result that has neither content nor structured content are the structured content.
func newCallResult(given json.RawMessage) CallResult {
	var members map[string]json.RawMessage
	if decode(given, &members) != nil {
		return CallResult{Content: blocksIn(given)}
	}
	content, structured := blocksIn(members["content"]), members["structuredContent"]
	made := CallResult{Content: content, IsError: !slices.Contains(notFailed, strings.ToLower(plain(members["isError"])))}
	switch {
	case bytes.HasPrefix(structured, []byte("{")):
		made.Structured = structured
	case len(content) > 0:
	case len(structured) > 0 && string(structured) != "null":
		made.Content = blocksIn(structured)
	case members["toolResult"] != nil: // as revision 2024-10-07 has it
		inner := newCallResult(members["toolResult"])
		inner.IsError = inner.IsError || made.IsError
		return inner
	case content == nil:
		maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return schemas.IsResultMember(name) })
		if len(members) > 0 {
			made.Structured = jsonvalue.Encoded(members)
		}
	}
	return made
}

// blocksIn returns the content blocks in a value: a list of them, or one.
func blocksIn(given json.RawMessage) []json.RawMessage {
	blocks := []json.RawMessage{given}
	switch {
	case len(given) == 0 || bytes.Equal(given, []byte("null")):
		return nil
	case given[0] == '[':
		_ = decode(given, &blocks) // any list fits
	}
	for i, each := range blocks {
		text := jsonvalue.Member(each, "text")
		if kind := jsonvalue.TextMember(each, "type"); kind == "" || kind == "text" && (len(text) == 0 || text[0] != '"') {
			if text == nil {
				text = each
			}
			blocks[i] = jsonvalue.Encoded(map[string]any{"type": "text", "text": plain(text)})
		}
	}
	return blocks
}

// Text returns the text of the content, or without any the structured content as text.
func (r CallResult) Text() string {
	var content []any
	for _, raw := range r.Content {
		var block any
		_ = decode(raw, &block) // it came as JSON
		content = append(content, block)
	}
	return cmp.Or(schemas.ContentText(content), string(r.Structured))
}
