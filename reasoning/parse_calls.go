package reasoning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// tool reads the calls in either form.
func (r *repairer) tool(intent *Intent) {
	intent.Calls = r.calls()
	single, has := r.call(r.members, "")
	switch {
	case has && len(intent.Calls) == 0:
		intent.ToolName, intent.Args = single.ToolName, single.Args
	case has && !slices.ContainsFunc(intent.Calls, single.equal):
		r.repaired("tool_name was sent with calls: it was used as the first call")
		intent.Calls = slices.Insert(intent.Calls, 0, single)
	case !has && len(intent.Calls) == 0:
		r.refuse("action is %q, but tool_name is missing", intent.Action)
	}
	if len(intent.Calls) > MaxCalls {
		r.refuse("%d calls; at most %d are allowed", len(intent.Calls), MaxCalls)
	}
}

func (c Call) equal(other Call) bool {
	return c.ToolName == other.ToolName && bytes.Equal(c.Args, other.Args)
}

func (r *repairer) calls() []Call {
	raw := r.members["calls"]
	if isNull(raw) {
		return nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		r.refuse("calls: expected a list of {tool_name, args}")
		return nil
	}
	calls := make([]Call, 0, len(list))
	for i, members := range list {
		where := fmt.Sprintf("calls[%d].", i)
		call, has := r.call(members, where)
		if !has {
			r.refuse("%stool_name is missing", where)
		}
		calls = append(calls, call)
	}
	return calls
}

// call reads one call. has is false if it names no tool.
func (r *repairer) call(members map[string]json.RawMessage, where string) (call Call, has bool) {
	raw := members["tool_name"]
	if isNull(raw) {
		return Call{}, false
	}
	var given string
	if json.Unmarshal(raw, &given) != nil || strings.TrimSpace(given) == "" {
		r.refuse("%stool_name: expected the name of a tool, got %s", where, fault.Cut(string(raw), 60))
		return Call{}, true
	}
	name, known := Canonical(given, r.tools)
	if known && name != given {
		r.repaired("%stool_name was written %q", where, given)
	}
	return Call{ToolName: name, Args: r.args(members["args"], where)}, true
}

// args reads the arguments of a call: an object, an object written as a JSON
// string, or nothing.
func (r *repairer) args(raw json.RawMessage, where string) json.RawMessage {
	none := json.RawMessage("{}")
	if isNull(raw) {
		return none
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		text = strings.TrimSpace(text)
		r.repaired("%sargs was a string", where)
		if text == "" || text == "null" {
			return none
		}
		raw = json.RawMessage(text)
	}
	var list []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) == 1 && list[0][0] == '{' {
		r.repaired("%sargs was a list of one", where)
		raw = list[0]
	}
	if _, err := jsonvalue.DecodeStored(raw); err != nil || raw[0] != '{' {
		why := fault.Cut(string(raw), 60)
		if err != nil {
			why += ": " + err.Error()
		}
		r.refuse("%sargs: expected a JSON object, got %s", where, why)
		return none
	}
	return raw
}
