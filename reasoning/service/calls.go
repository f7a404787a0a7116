package service

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
	"sync"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/reasoning"
)

// asObjects rewrites what a model writes in other conventions than JSON as objects: JSON
// within a JSON string, calls in XML and in Python, the final answer of ReAct.
func asObjects(text string, tools []reasoning.Tool) string {
	text = observed().ReplaceAllString(namespace().ReplaceAllString(unquoted(text), "$1$2"), "$1")
	tools = append(slices.Clone(tools), reasoning.Tool{Name: string(reasoning.ActionFinish), InputSchema: json.RawMessage(`{"properties":{"final":{"type":"string"}}}`)})
	text = pythonCalls(xmlCalls(withoutAttributes(text, tools), tools), tools)
	if at := finalAnswer().FindStringSubmatchIndex(text); at != nil && !strings.Contains(text[at[2]:], "{") {
		intent := encode(map[string]string{"action": string(reasoning.ActionFinish), "final": text[at[2]:at[3]]})
		text = text[:at[0]] + "\n" + string(intent)
	}
	return text
}

var (
	// namespace matches what stands before the names of marks: <｜DSML｜invoke.
	namespace = pattern.Lazy(`(</?)[|｜]\w+[|｜]([a-z])`)
	// observed matches a call of ReAct and the result that the model makes up for it.
	observed = pattern.Lazy(`(?is)(action[ _]input.*?)\n[ \t*]*observation[ \t*]*:.*$`)
)

var finalAnswer = pattern.Lazy(`(?is)(?:^|\n)[ \t*]*final answer[ \t*]*:[ \t*]*(\S.*?)\s*$`)

// maxQuoted bounds how often JSON is quoted in itself.
const maxQuoted = 3

// unquoted returns the text of a JSON string, even of one without its quotes or escaped for
// HTML, and braces of other scripts as JSON's. A prompt may have had the first brace, or
// shown it doubled.
func unquoted(text string) string {
	switch {
	case !strings.Contains(text, `"`) && strings.Contains(text, "&quot;"):
		text = html.UnescapeString(text)
	case strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}"):
		text = text[1 : len(text)-1]
	case withoutBrace().MatchString(text):
		text = "{" + text
	}
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

var withoutBrace = pattern.Lazy(`^"\w+"\s*:`)

var (
	// callMark matches a mark with the name of a tool: <function=git_log>, <invoke name="git.log">,
	// <git_log>, or <tool_call> before the name.
	callMark = pattern.Lazy(`<([A-Za-z_][\w:.-]*)(?:(?:\s+name)?\s*=\s*["']?([\w.:/-]+)["']?)?\s*>[ \t\n]*([A-Za-z_][\w.:/-]*)?`)
	// argumentMark matches a mark with the name of an argument: <parameter=limit>, <parameter
	// name="limit">, <limit>, or <arg_key>limit</arg_key><arg_value>.
	argumentMark = pattern.Lazy(`<\w*key>\s*([\w.-]+)\s*</\w*key>\s*<(\w*value)>|<([A-Za-z_][\w:.-]*)(?:(?:\s+name)?\s*=\s*["']?([\w.-]+)["']?)?[^<>]*>`)
)

var (
	attributed = pattern.Lazy(`<([A-Za-z_][\w:.-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))+)\s*(/?)>`)
	attribute  = pattern.Lazy(`([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// withoutAttributes rewrites the marks of a call that has its arguments, or one of them, in
// attributes as marks around each: <git_log limit="3"/>, <param name="limit" value="3"/>.
func withoutAttributes(text string, tools []reasoning.Tool) string {
	objects, from := spans(text, false), 0
	var out strings.Builder
	for _, at := range attributed().FindAllStringSubmatchIndex(text, -1) {
		element, empty := text[at[2]:at[3]], at[6] < at[7]
		_, named := offeredTool(element, tools)
		named = named || empty && argsName().MatchString(folded(element))
		var names, values []string
		for _, each := range attribute().FindAllStringSubmatch(text[at[4]:at[5]], -1) {
			value := html.UnescapeString(each[2] + each[3])
			_, known := offeredTool(value, tools)
			names, values, named = append(names, each[1]), append(values, value), named || known
		}
		if one := len(names) == 2 && names[0] == "name" && names[1] == "value"; one {
			names, values, element = values[:1], values[1:], ""
		} else if !named || len(names) == 1 && !empty && names[0] == "name" {
			continue
		}
		if inside(objects, at[0]) {
			continue
		}
		out.WriteString(text[from:at[0]])
		if from = at[1]; element != "" {
			out.WriteString("<" + element + ">")
		}
		for i, name := range names {
			out.WriteString("<" + name + ">" + values[i] + "</" + name + ">")
		}
		if empty && element != "" {
			out.WriteString("</" + element + ">")
		}
	}
	return out.String() + text[from:]
}

// xmlCalls rewrites calls whose arguments are marks, or missing, as objects; not those
// that an object quotes.
func xmlCalls(text string, tools []reasoning.Tool) string {
	var out strings.Builder
	from := 0
	pass := func(upTo int) {
		out.WriteString(text[from:upTo])
		from = upTo
	}
	objects := sync.OnceValue(func() []span { return spans(text, false) })
	for {
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
		if !known || inside(objects(), from+at[0]) {
			pass(from + at[0] + 1)
			continue
		}
		body, behind, closed := strings.Cut(text[begin:], "</"+element+">")
		next, more, _ := strings.Cut(behind, "<"+element+">")
		if closed && begin > from+at[1]-len(part(3)) && strings.TrimSpace(body) == "" && argumentFirst().MatchString(next) { // the arguments follow
			body, behind = next, strings.Repeat("<"+element+">", min(len(more), 1))+more
		}
		if objectFirst().MatchString(body) || !closed && !strings.Contains(body, "<") {
			pass(from + at[0] + 1)
			continue
		}
		arguments := xmlArguments(body, tool)
		if len(arguments) == 0 && tool.Name == string(reasoning.ActionFinish) {
			arguments["final"] = encode(strings.TrimSpace(body))
		}
		if len(arguments) == 0 && strings.TrimSpace(body) != "" { // no call, but prose
			pass(begin)
			continue
		}
		out.WriteString(text[from:from+at[0]] + string(callObject(tool.Name, encode(arguments))) + "\n")
		from = len(text) - len(behind)
	}
}

// argumentFirst matches an argument, or what is around all.
var argumentFirst = pattern.Lazy(`^\s*(?:\{|<[A-Za-z_])`)

// objectFirst matches an object that only marks stand before.
var objectFirst = pattern.Lazy(`^(?:\s*<[^<>]*>)*\s*\{`)

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
var nameAtEnd = pattern.Lazy("(?is)(?:^|[\n>\\]=:：(|｜])[ \t\"'`*]*([a-z_][\\w./:-]*?)[\"'`*]*(?::\\d+)?(?:\\s|<[^<>\n]*>|\\[[a-z_]+\\]|\\[call_id\\]\\w+|```[a-z]*|action[ _]input(?: \\d+)?|arguments?|args|input|json|parameters|\n[ \t*✿]*\\pL+[ *✿]*[:：]|[:=(*`>\\]])*$")

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
