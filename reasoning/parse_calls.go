package reasoning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
)

// tool reads the calls in either form.
func (m *mender) tool(intent *Intent) {
	intent.Calls = m.calls()
	single, has := m.call(m.members, "")
	switch {
	case has && len(intent.Calls) == 0:
		intent.ToolName, intent.Args = single.ToolName, single.Args
	case has && !slices.ContainsFunc(intent.Calls, single.equal):
		m.mended("tool_name stood beside calls: it is the first of them")
		intent.Calls = slices.Insert(intent.Calls, 0, single)
	case !has && len(intent.Calls) == 0:
		m.refuse("action is %q, but tool_name is missing", intent.Action)
	}
	if len(intent.Calls) > MaxCalls {
		m.refuse("%d calls; at most %d are taken", len(intent.Calls), MaxCalls)
	}
}

func (c Call) equal(other Call) bool {
	return c.ToolName == other.ToolName && bytes.Equal(c.Args, other.Args)
}

func (m *mender) calls() []Call {
	raw := m.members["calls"]
	if isNull(raw) {
		return nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		m.refuse("calls: expected a list of {tool_name, args}")
		return nil
	}
	calls := make([]Call, 0, len(list))
	for i, members := range list {
		where := fmt.Sprintf("calls[%d].", i)
		call, has := m.call(members, where)
		if !has {
			m.refuse("%stool_name is missing", where)
		}
		calls = append(calls, call)
	}
	return calls
}

// call reads one call; has is false where no tool is named.
func (m *mender) call(members map[string]json.RawMessage, where string) (call Call, has bool) {
	raw := members["tool_name"]
	if isNull(raw) {
		return Call{}, false
	}
	var given string
	if json.Unmarshal(raw, &given) != nil || strings.TrimSpace(given) == "" {
		m.refuse("%stool_name: expected the name of a tool, got %s", where, fault.Cut(string(raw), 60))
		return Call{}, true
	}
	name, known := Canonical(given, m.tools)
	if known && name != given {
		m.mended("%stool_name was written %q", where, given)
	}
	return Call{ToolName: name, Args: m.args(members["args"], where)}, true
}

// args reads the arguments of a call: an object, also one written as JSON in a
// string, or nothing.
func (m *mender) args(raw json.RawMessage, where string) json.RawMessage {
	none := json.RawMessage("{}")
	if isNull(raw) {
		return none
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		text = strings.TrimSpace(text)
		m.mended("%sargs was a string", where)
		if text == "" || text == "null" {
			return none
		}
		raw = json.RawMessage(text)
	}
	if raw[0] != '{' || !json.Valid(raw) {
		m.refuse("%sargs: expected a JSON object, got %s", where, fault.Cut(string(raw), 60))
		return none
	}
	if nestedDeeper(raw, maxNesting) {
		m.refuse("%sargs: nested deeper than %d", where, maxNesting)
		return none
	}
	return raw
}

// maxNesting is how deep arguments may be nested: no tool takes deeper ones, and
// sent back with the next question they would keep others from reading it.
const maxNesting = 200

// nestedDeeper says whether JSON, which is valid, has more objects and arrays
// within each other than that.
func nestedDeeper(data []byte, most int) bool {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
