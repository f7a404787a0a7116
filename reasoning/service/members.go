package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"savant/internal/pattern"
	"savant/reasoning"
)

// otherNames are names that models use for the members of an intent.
var otherNames = map[string][]string{
	"action":    nil,
	"tool_name": {"tool", "name", "function"},
	"args":      nil,
	"final":     {"answer", "final_answer", "response"},
	"reasoning": {"thought", "thoughts", "rationale"},
	"calls":     {"tool_calls", "tool_uses", "function_calls", "tools", "actions"},
}

// argsName matches the folded names that models use for args.
var argsName = pattern.Lazy(`^(?:tool|action|function|call|kw)?(?:arg|param|input)`)

var actions = []reasoning.Action{reasoning.ActionTool, reasoning.ActionReason, reasoning.ActionFinish, reasoning.ActionError}

// otherActions match names that models use for the actions.
var otherActions = []struct {
	names  func() *regexp.Regexp
	action reasoning.Action
}{
	{pattern.Lazy(`(?i)\b(?:tool|call|function|use|run|execute|invoke)s?\b`), reasoning.ActionTool},
	{pattern.Lazy(`(?i)^(?:think|thought)$`), reasoning.ActionReason},
	{pattern.Lazy(`(?i)^(?:(?:final[\W_]?)?answer|final|finish|done|respond)$`), reasoning.ActionFinish},
}

// rename corrects the names of the members of an intent and its calls, takes calls out of
// the objects around them, and infers a missing action from the other members.
func rename(text string, tools []reasoning.Tool) (renamed string, changed bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return text, false
	}
	before := string(encode(members))
	renameCall(members, tools)
	if calls := callsIn(members["calls"]); calls != nil {
		for _, call := range calls {
			renameCall(call, tools)
			if besides(call, tools); call["tool_name"] != nil {
				delete(call, "action")
			}
		}
		if members["calls"] = encode(calls); len(calls) == 1 && members["tool_name"] == nil && (finishes(calls[0], tools) || calls[0]["action"] != nil) {
			delete(members, "calls")
			maps.Copy(members, calls[0])
		}
	}
	if action := actionOf(members, tools); action != "" {
		members["action"] = encode(action)
	}
	finishCall(members, tools)
	besides(members, tools)
	if renamed = string(encode(members)); renamed == before {
		return text, false
	}
	return renamed, true
}

// textIn returns a member that is a text; "" for any other.
func textIn(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text) // else it is none
	return text
}

// toolOf returns the offered tool that a call names.
func toolOf(members map[string]json.RawMessage, tools []reasoning.Tool) (reasoning.Tool, bool) {
	return offeredTool(textIn(members["tool_name"]), tools)
}

// callsIn reads a list of calls, or a single one, perhaps within a text.
func callsIn(raw json.RawMessage) (calls []map[string]json.RawMessage) {
	if only := objectIn(raw); only != nil {
		return []map[string]json.RawMessage{only}
	}
	_ = json.Unmarshal([]byte(cmp.Or(textIn(raw), string(raw))), &calls) // else there are none
	return calls
}

// objectIn reads an object, perhaps within a text or as the only one of a list; else nil.
func objectIn(raw json.RawMessage) (members map[string]json.RawMessage) {
	var list []json.RawMessage
	raw = []byte(cmp.Or(textIn(raw), string(raw)))
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		raw = list[0]
	}
	_ = json.Unmarshal(raw, &members) // else there is none
	return members
}

// maxHolders bounds how many objects stand around a call.
const maxHolders = 4

// stated finds the call or intent that an object is or holds: the one that names its
// action, an offered tool or calls.
func stated(members map[string]json.RawMessage, tools []reasoning.Tool, depth int) map[string]json.RawMessage {
	if byName(members, tools) {
		return members
	}
	renameMembers(members)
	_, offered := toolOf(members, tools)
	switch {
	case offered, textIn(members["tool_name"]) != "" && members["args"] != nil, callsIn(members["calls"]) != nil,
		slices.Contains(actions, reasoning.Action(textIn(members["action"]))):
		return members
	case depth == 0:
		return nil
	}
	for _, each := range slices.Sorted(maps.Keys(members)) {
		if inner := objectIn(members[each]); inner != nil {
			if inner = stated(inner, tools, depth-1); inner != nil {
				return inner
			}
		}
	}
	return nil
}

// byName makes a call of an object whose only member is named like a tool: {"git.log": {…}}.
func byName(members map[string]json.RawMessage, tools []reasoning.Tool) bool {
	for name, inner := range members {
		if tool, known := offeredTool(name, tools); len(members) == 1 && (known && inner[0] == '{' || name == string(reasoning.ActionFinish)) {
			if !known {
				tool.Name = name
			}
			delete(members, name)
			members["tool_name"], members["args"] = encode(tool.Name), inner
			return true
		}
	}
	return false
}

// renameCall corrects the names of the members of one call, which other objects may
// hold: {"function": {"name": …}}.
func renameCall(members map[string]json.RawMessage, tools []reasoning.Tool) {
	if byName(members, tools) {
		return
	}
	renameMembers(members)
	if textIn(members["tool_name"]) == "" && textIn(members["action"]) != string(reasoning.ActionFinish) {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			tool, known := offeredTool(textIn(members[name]), tools)
			switch inner := objectIn(members[name]); {
			case known && name != "action" && members["args"] != nil:
				members["tool_name"] = encode(tool.Name)
			case inner != nil && name != "calls":
				if inner = stated(inner, tools, maxHolders); inner != nil {
					delete(members, name)
					maps.Copy(members, inner)
				}
			}
		}
	}
	if inner := objectIn(members["args"]); inner != nil { // the intent as a call: json_tool_call
		_, known := toolOf(members, tools)
		if renameMembers(inner); !known && slices.Contains(actions, reasoning.Action(textIn(inner["action"]))) {
			clear(members)
			maps.Copy(members, inner)
		}
	}
	if written := textIn(members["args"]); !json.Valid([]byte(written)) {
		if fixed, repairs, ok := repaired(written); ok && !slices.Contains(repairs, repairedEnd) {
			members["args"] = json.RawMessage(fixed)
		}
	}
}

// renameMembers gives the members of an intent their names: "toolName", "ToolName" and
// "tool-name" are tool_name, and so are the names that other formats have for it.
func renameMembers(members map[string]json.RawMessage) {
	written := slices.Sorted(maps.Keys(members))
	for name, others := range otherNames {
		for _, other := range append([]string{name}, others...) {
			for _, each := range written {
				if _, named := members[name]; !named && members[each] != nil && (folded(each) == folded(other) || name == "args" && argsName().MatchString(folded(each))) {
					members[name] = members[each]
					delete(members, each)
				}
			}
		}
	}
}

// folded is a name without case and separators.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// besides takes the arguments of a call that stand beside its name: the members that the
// tool declares.
func besides(members map[string]json.RawMessage, tools []reasoning.Tool) {
	tool, known := toolOf(members, tools)
	if !known || members["args"] != nil {
		return
	}
	declared := propertiesOf(tool)
	args := map[string]json.RawMessage{}
	for each, value := range members {
		_, own := otherNames[each]
		if _, is := declared[each]; is && !own {
			args[each] = value
		}
	}
	if len(args) > 0 {
		members["args"] = encode(args)
	}
}

// finishes reports whether a call is that of a tool that nobody offers, named as what ends a run.
func finishes(call map[string]json.RawMessage, tools []reasoning.Tool) bool {
	name := textIn(call["tool_name"])
	_, known := offeredTool(name, tools)
	return !known && otherActions[2].names().MatchString(name)
}

// finishCall makes a finish of the call of a tool of that name, which nobody offers, and
// finds the answer of a finish among its arguments or its other members.
func finishCall(members map[string]json.RawMessage, tools []reasoning.Tool) {
	called := finishes(members, tools)
	if !called && (members["final"] != nil || members["finish"] != nil || textIn(members["action"]) != string(reasoning.ActionFinish)) {
		return
	}
	inner := maps.Clone(members)
	if args := objectIn(members["args"]); args != nil {
		inner = args
	} else if textIn(members["args"]) != "" { // LangChain's action_input
		inner = map[string]json.RawMessage{"final": members["args"]}
	}
	renameMembers(inner)
	delete(inner, "action")
	delete(inner, "tool_name")
	if delete(inner, "reasoning"); inner["final"] == nil && len(inner) == 1 {
		for _, only := range inner {
			inner["final"] = only
		}
	}
	if inner["final"] != nil {
		delete(members, "tool_name")
		delete(members, "args")
		members["action"], members["final"] = encode(reasoning.ActionFinish), inner["final"]
	}
}

// actionOf returns the action of an intent with a missing or misnamed one; else "".
func actionOf(members map[string]json.RawMessage, tools []reasoning.Tool) reasoning.Action {
	action := textIn(members["action"])
	if action == "" && len(members["action"]) > len(`""`) { // it is no text
		return ""
	}
	if tool, known := offeredTool(action, tools); known && members["tool_name"] == nil {
		members["tool_name"] = encode(tool.Name)
		return reasoning.ActionTool
	}
	for _, each := range otherActions {
		if each.names().MatchString(strings.ReplaceAll(strings.TrimSpace(action), "_", " ")) && action != string(each.action) {
			return each.action
		}
	}
	called := members["tool_name"] != nil || members["calls"] != nil
	switch {
	case action == "" && called:
		return reasoning.ActionTool
	case !called && members["final"] != nil && !slices.Contains(actions, reasoning.Action(action)):
		return reasoning.ActionFinish
	}
	return ""
}

// encode encodes a value that was decoded from JSON, so it cannot fail.
func encode(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("service: what was JSON does not marshal: %v", err))
	}
	return raw
}
