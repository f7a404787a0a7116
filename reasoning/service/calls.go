package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/reasoning"
)

// asObjects rewrites what a model writes in other conventions than JSON as objects: JSON
// within a JSON string, calls in XML and in Python, the final answer of ReAct.
func asObjects(text string, tools []reasoning.Tool) string {
	text = unquoted(text)
	text = pythonCalls(xmlCalls(text, tools), tools)
	if at := finalAnswer().FindStringSubmatchIndex(text); at != nil && !strings.Contains(text[at[2]:], "{") {
		intent := encode(map[string]string{"action": string(reasoning.ActionFinish), "final": text[at[2]:at[3]]})
		text = text[:at[0]] + "\n" + string(intent)
	}
	return text
}

var finalAnswer = pattern.Lazy(`(?is)(?:^|\n)[ \t*]*final answer[ \t*]*:[ \t*]*(\S.*?)\s*$`)

// maxQuoted bounds how often JSON is quoted in itself.
const maxQuoted = 3

// unquoted returns the text of a JSON string, even of one without its quotes, and braces
// of other scripts as JSON's.
func unquoted(text string) string {
	if !strings.Contains(text, "{") && strings.Contains(text, "｛") {
		text = asciiPunctuation(text)
	}
	for range maxQuoted {
		inner := ""
		if strings.HasPrefix(text, `{\"`) {
			text = `"` + text + `"`
		}
		if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &inner) != nil {
			break
		}
		text = strings.TrimSpace(inner)
	}
	return text
}

var (
	// callMark matches a mark with the name of a tool: <function=git_log>, <invoke name="git.log">,
	// <git_log>, or <tool_call> before the name.
	callMark = pattern.Lazy(`<([A-Za-z_][\w:.-]*)(?:(?:\s+name)?\s*=\s*["']?([\w.:/-]+)["']?)?\s*>[ \t\n]*([A-Za-z_][\w.:/-]*)?`)
	// argumentMark matches a mark with the name of an argument: <parameter=limit>, <parameter
	// name="limit">, <limit>, or <arg_key>limit</arg_key><arg_value>.
	argumentMark = pattern.Lazy(`<\w*key>\s*([\w.-]+)\s*</\w*key>\s*<(\w*value)>|<([A-Za-z_][\w:.-]*)(?:(?:\s+name)?\s*=\s*["']?([\w.-]+)["']?)?[^<>]*>`)
)

// xmlCalls rewrites calls whose arguments are marks, or missing, as objects; not those
// that an object quotes.
func xmlCalls(text string, tools []reasoning.Tool) string {
	var out strings.Builder
	for from := 0; ; {
		at := callMark().FindStringSubmatchIndex(text[from:])
		if at == nil {
			return out.String() + text[from:]
		}
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return text[from+at[2*i] : from+at[2*i+1]]
		}
		element, begin := part(1), from+at[1]
		var tool reasoning.Tool
		known := false
		for i, name := range []string{part(2), part(3), element} {
			if tool, known = offeredTool(name, tools); known {
				if i != 1 && at[6] >= 0 {
					begin = from + at[6] // what follows is not the name
				}
				break
			}
		}
		body, behind, closed := strings.Cut(text[begin:], "</"+element+">")
		if !known || inside(spans(text, false), from+at[0]) || strings.HasPrefix(strings.TrimSpace(body), "{") || !closed && !strings.Contains(body, "<") {
			next := from + at[0] + 1
			out.WriteString(text[from:next])
			from = next
			continue
		}
		arguments := xmlArguments(body, tool)
		if len(arguments) == 0 && strings.TrimSpace(body) != "" { // no call, but prose
			out.WriteString(text[from:begin])
			from = begin
			continue
		}
		out.WriteString(text[from:from+at[0]] + string(callObject(tool.Name, encode(arguments))) + "\n")
		from = len(text) - len(behind)
	}
}

var (
	pythonCall = pattern.Lazy(`([A-Za-z_][\w.:-]*)\(`)
	// behindCall matches what may follow a call in Python.
	behindCall = pattern.Lazy("^[ \t]*(?:$|[\n\r\\])}<;`]|,\\s*[A-Za-z_][\\w.:-]*\\()")
)

// pythonCalls rewrites calls in Python, name(a=1, b="x"), as objects; not those amid
// prose or in an object.
func pythonCalls(text string, tools []reasoning.Tool) string {
	source, from := asciiPunctuation(text), 0
	var out strings.Builder
	for _, at := range pythonCall().FindAllStringSubmatchIndex(source, -1) {
		tool, known := offeredTool(source[at[2]:at[3]], tools)
		if !known || at[0] < from || inside(spans(source, false), at[0]) {
			continue
		}
		line := source[max(from, strings.LastIndexByte(source[:at[0]], '\n')+1):at[0]]
		arguments, end := keywords(source, at[1])
		if end > 0 && beside().MatchString(strings.TrimSuffix(line, "print(")) && behindCall().MatchString(source[end:]) {
			out.WriteString(source[from:at[0]] + string(callObject(tool.Name, json.RawMessage(arguments))))
			from = end
		}
	}
	if from == 0 {
		return text
	}
	return out.String() + source[from:]
}

// keywords reads the arguments of a call in Python as an object, and where it ends; 0 if
// they are not all named.
func keywords(source string, start int) (arguments string, end int) {
	var members []string
	depth, quote := 0, byte(0)
	for i := start; i < len(source); i++ {
		switch c := source[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c != quote:
		case c == '"' || c == '\'':
			quote ^= c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case depth == 0 && (c == ',' || c == ')'):
			name, value, _ := strings.Cut(source[start:i], "=")
			if name = strings.TrimSpace(name); name != "" {
				members = append(members, string(encode(name))+":"+value)
			}
			if strings.ContainsAny(name, "\"'([{") || name != "" && strings.TrimSpace(value) == "" {
				return "", 0
			}
			if start = i + 1; c == ')' {
				arguments, _, ok := repaired("{" + strings.Join(members, ",") + "}")
				return arguments, map[bool]int{true: start}[ok]
			}
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	return "", 0
}

// offeredTool returns the offered tool that a name means.
func offeredTool(name string, tools []reasoning.Tool) (reasoning.Tool, bool) {
	if name == "" {
		return reasoning.Tool{}, false
	}
	name, known := reasoning.Canonical(strings.TrimRight(name, ":"), tools)
	i := slices.IndexFunc(tools, func(t reasoning.Tool) bool { return t.Name == name })
	if !known || i < 0 {
		return reasoning.Tool{}, false
	}
	return tools[i], true
}

// xmlArguments reads arguments that are marks.
func xmlArguments(body string, tool reasoning.Tool) map[string]json.RawMessage {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(tool.InputSchema, &schema) // a tool without a schema has arguments of any name
	arguments := map[string]json.RawMessage{}
	for {
		at := argumentMark().FindStringSubmatch(body)
		if at == nil {
			return arguments
		}
		_, body, _ = strings.Cut(body, at[0])
		name, element := at[1], at[2]
		if name == "" {
			name, element = at[4], at[3]
			if _, declared := schema.Properties[element]; name == "" && declared {
				name = element
			}
		}
		value, behind, closed := strings.Cut(body, "</"+element+">")
		if name == "" || !closed {
			continue
		}
		body = behind
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		if _, err := jsonvalue.DecodeStored([]byte(value)); err != nil || schema.Properties[name].Type == "string" {
			value = string(encode(value))
		}
		arguments[name] = json.RawMessage(value)
	}
}

// nameAtEnd matches a name at the beginning of a line, behind a mark or a label, with nothing
// but marks and labels between it and what follows.
var nameAtEnd = pattern.Lazy("(?is)(?:^|[\n>\\]=:：(|｜])[ \t\"'`*]*([a-z_][\\w./:-]*?)[\"'`*]*(?::\\d+)?(?:\\s|<[^<>\n]*>|\\[[a-z_]+\\]|```[a-z]*|action[ _]input|arguments?|args|input|json|parameters|\n[ \t*]*\\pL+[ *]*[:：]|[:=(*`>\\]])*$")

// nameBefore returns the offered tool whose name stands before its arguments; else "".
func nameBefore(text string, tools []reasoning.Tool) string {
	found := nameAtEnd().FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	tool, _ := offeredTool(found[1], tools)
	return tool.Name
}

func callObject(name string, arguments json.RawMessage) json.RawMessage {
	return encode(map[string]any{"action": reasoning.ActionTool, "tool_name": name, "args": arguments})
}

// hasMember reports whether a text is an object with a member.
func hasMember(text, name string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members[name] != nil
}

// otherNames are names that models use for the members of an intent.
var otherNames = map[string][]string{
	"action":    nil,
	"tool_name": {"tool", "name", "function", "recipient_name", "function_name"},
	"args":      {"arguments", "parameters", "input", "tool_input", "tool_args", "action_input", "kwargs", "params"},
	"final":     {"answer", "final_answer", "response"},
	"reasoning": {"thought", "thoughts", "rationale"},
	"calls":     {"tool_calls", "tool_uses", "function_calls", "tools"},
}

// holders are names of members that hold a call.
var holders = []string{"tool", "function", "function_call", "tool_call", "tool_use", "call", "action", "intent"}

// otherActions match names that models use for the actions.
var otherActions = []struct {
	names  func() *regexp.Regexp
	action reasoning.Action
}{
	{pattern.Lazy(`(?i)\b(?:tool|call|function)s?\b`), reasoning.ActionTool},
	{pattern.Lazy(`(?i)^(?:think|thought)$`), reasoning.ActionReason},
	{pattern.Lazy(`(?i)^(?:final\W?)?answer$|^final$|^done$`), reasoning.ActionFinish},
}

// rename corrects the names of the members of an intent and its calls, takes calls out of
// the objects around them, and infers a missing action from the other members.
func rename(text string, tools []reasoning.Tool) (renamed string, changed bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return text, false
	}
	changed = renameCall(members, tools)
	var calls []map[string]json.RawMessage
	if json.Unmarshal(members["calls"], &calls) == nil && calls != nil {
		for _, call := range calls {
			changed = renameCall(call, tools) || changed
			changed = besides(call, tools) || changed
			delete(call, "action")
		}
		members["calls"] = encode(calls)
	}
	if action := actionOf(members, tools); action != "" {
		members["action"], changed = encode(action), true
	}
	changed = finishCall(members, tools) || besides(members, tools) || changed
	if isText(members["args"]) && members["final"] == nil && string(members["action"]) == `"finish"` { // LangChain's action_input
		members["final"] = members["args"]
	}
	if !changed {
		return text, false
	}
	return string(encode(members)), true
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// renameCall corrects the names of the members of one call, which another object may
// hold: {"function": {"name": …}}, {"git.log": {…}}.
func renameCall(members map[string]json.RawMessage, tools []reasoning.Tool) (changed bool) {
	for name, inner := range members {
		var call map[string]json.RawMessage
		if members["tool_name"] != nil || json.Unmarshal(inner, &call) != nil || call == nil {
			continue
		}
		if tool, known := offeredTool(name, tools); known && len(members) == 1 {
			delete(members, name)
			members["tool_name"], members["args"] = encode(tool.Name), inner
			return true
		}
		if renameMembers(call); slices.ContainsFunc(holders, func(each string) bool { return folded(each) == folded(name) }) && isText(call["tool_name"]) {
			delete(members, name)
			maps.Copy(members, call)
			changed = true
			break
		}
	}
	changed = renameMembers(members) || changed
	var written string
	if json.Unmarshal(members["args"], &written) == nil && !json.Valid([]byte(written)) {
		if fixed, repairs, ok := repaired(written); ok && !slices.Contains(repairs, repairedEnd) {
			members["args"], changed = json.RawMessage(fixed), true
		}
	}
	return changed
}

// renameMembers gives the members of an intent their names: "toolName", "ToolName" and
// "tool-name" are tool_name, and so are the names that other formats have for it.
func renameMembers(members map[string]json.RawMessage) (changed bool) {
	written := slices.Sorted(maps.Keys(members))
	for name, others := range otherNames {
		for _, other := range append([]string{name}, others...) {
			for _, each := range written {
				if _, named := members[name]; !named && members[each] != nil && folded(each) == folded(other) {
					members[name], changed = members[each], true
					delete(members, each)
				}
			}
		}
	}
	return changed
}

// folded is a name without case and separators.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// besides takes the arguments of a call that stand beside its name: the members that the
// tool declares.
func besides(members map[string]json.RawMessage, tools []reasoning.Tool) (changed bool) {
	var name string
	_ = json.Unmarshal(members["tool_name"], &name) // else it names no tool
	tool, known := offeredTool(name, tools)
	if !known || members["args"] != nil {
		return false
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(tool.InputSchema, &schema) // else it declares none
	args := map[string]json.RawMessage{}
	for each, value := range members {
		if _, own := otherNames[each]; schema.Properties[each] != nil && !own {
			args[each] = value
		}
	}
	if len(args) > 0 {
		members["args"] = encode(args)
	}
	return len(args) > 0
}

// finishCall makes a finish of the call of a tool of that name, which nobody offers.
func finishCall(members map[string]json.RawMessage, tools []reasoning.Tool) bool {
	var name string
	_ = json.Unmarshal(members["tool_name"], &name) // else it names no tool
	if _, known := offeredTool(name, tools); known || name != string(reasoning.ActionFinish) && !otherActions[2].names().MatchString(name) {
		return false
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(members["args"], &args) == nil {
		if renameMembers(args); args["final"] == nil && len(args) == 1 {
			for _, only := range args {
				args["final"] = only
			}
		}
	}
	if args["final"] == nil {
		return false
	}
	delete(members, "tool_name")
	delete(members, "args")
	members["action"], members["final"] = encode(reasoning.ActionFinish), args["final"]
	return true
}

// actionOf returns the action of an intent with a missing or misnamed one; else "".
func actionOf(members map[string]json.RawMessage, tools []reasoning.Tool) reasoning.Action {
	var action string
	if raw, has := members["action"]; has && json.Unmarshal(raw, &action) != nil {
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
	switch {
	case action != "":
		return ""
	case members["tool_name"] != nil || members["calls"] != nil:
		return reasoning.ActionTool
	case members["final"] != nil:
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
