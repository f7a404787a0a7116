package service

import (
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/reasoning"
)

// asObjects rewrites what a model writes in other conventions than JSON as objects: JSON
// within a JSON string, calls in XML and in Python, the final answer of ReAct.
func asObjects(text string, tools []reasoning.Tool) string {
	text = observed().ReplaceAllString(ownMarks().ReplaceAllString(unquoted(text), "$1$2"), "$1")
	text = addressed().ReplaceAllString(strings.ReplaceAll(text, `<|"|>`, `"`), "$1 ") // Gemma's quotation mark
	tools = append(slices.Clone(tools), reasoning.Tool{Name: "final_answer"}, reasoning.Tool{Name: string(reasoning.ActionFinish), InputSchema: json.RawMessage(`{"properties":{"final":{"type":"string"}}}`)})
	text = pythonCalls(xmlCalls(text, tools), tools)
	if at := finalAnswer().FindStringSubmatchIndex(text); at != nil && !strings.Contains(text[at[2]:], "{") {
		intent := encode(map[string]string{"action": string(reasoning.ActionFinish), "final": text[at[2]:at[3]]})
		text = text[:at[0]] + "\n" + string(intent)
	}
	return text
}

var (
	// ownMarks matches what models put before marks, or the names of them: <｜DSML｜invoke.
	ownMarks = pattern.Lazy(`(</?)[|｜]\w+[|｜]([a-z])|\]<\]\w+\[>\[`)
	// addressed matches the recipient of a call of harmony, and what leaks behind it.
	addressed = pattern.Lazy(`(?m)^(\s*to=functions\.\S+)[^\n{<]*`)
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
		if escaped().MatchString(text) {
			text = `"` + text + `"`
		}
		if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &inner) != nil {
			break
		}
		text = strings.TrimSpace(inner)
	}
	return text
}

// escaped matches the beginning of an object in a JSON string without its quotes.
var escaped = pattern.Lazy(`^\{(?:\s|\\[nrt])*\\"`)

var withoutBrace = pattern.Lazy(`^"\w+"\s*:`)

var (
	// element matches a mark that opens: <git_log limit="3">, <function=git_log>, <invoke name="git.log"/>.
	element   = pattern.Lazy(`^\s*<([A-Za-z_][\w:.-]*)((?:\s*=|\s)(?:"[^"]*"|'[^']*'|[^<>"'])*?)?\s*(/?)>`)
	attribute = pattern.Lazy(`([\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w.:/-]+))`)
	// keyed matches the name of an argument that stands before its value.
	keyed = pattern.Lazy(`<\w*key>\s*([\w.-]+)\s*</\w*key>(\s*<\w*value)>`)
	names = pattern.Lazy(`[A-Za-z_][\w.:/-]*`)
)

// xmlCalls rewrites elements that name an offered tool as objects; not those that an object
// quotes.
func xmlCalls(text string, tools []reasoning.Tool) string {
	text = keyed().ReplaceAllString(text, `$2 name="$1">`)
	objects, from := spans(text, false), 0
	var out strings.Builder
	tries := 0
	for at := range len(text) {
		if text[at] != '<' || at < from || tries == maxMarks || !element().MatchString(text[at:min(len(text), at+maxMark)]) || inside(objects, at) {
			continue
		}
		for _, name := range names().FindAllString(text[at:min(len(text), at+maxMark)], maxTries) {
			tool, known := offeredTool(name, tools)
			if !known {
				continue
			}
			tries++
			read := xmlReader{tool: tool.Name, declared: propertiesOf(tool)}
			if members, size := read.members(text[at:]); read.names(members) {
				out.WriteString(text[from:at] + string(encode(members)) + "\n")
				from = at + size
			}
			break
		}
	}
	return out.String() + text[from:]
}

// maxMarks bounds the marks behind which a name was found, maxMark how far it is looked for,
// in bytes.
const (
	maxMarks = 4 * reasoning.MaxCalls
	maxMark  = 200
)

// xmlReader reads the elements of a call as members of an object.
type xmlReader struct {
	tool string
	// whole: the end of no element is missing.
	whole bool
	// ended: where the text ends, an element does.
	ended    bool
	declared map[string]gjson.Result
}

// isTool reports whether a value is the name of the tool.
func (r xmlReader) isTool(value any) bool {
	name, _ := value.(string)
	_, is := offeredTool(name, []reasoning.Tool{{Name: r.tool}})
	return is && r.tool != ""
}

// names reports whether members call the tool: one is named like it, has its name, or begins
// with it.
func (r xmlReader) names(members map[string]any) bool {
	for name, value := range members {
		inner, _ := value.(map[string]any)
		if r.isTool(name) || r.isTool(value) || r.isTool(inner["name"]) {
			return true
		}
	}
	return false
}

// members reads the elements at the beginning of a text, up to one that was there before,
// and returns where they end. A call is alone.
func (r xmlReader) members(text string) (found map[string]any, end int) {
	found = map[string]any{}
	for {
		name, value, size := r.element(text[end:])
		if size == 0 || found[name] != nil || len(found) > 0 && r.isTool(name) {
			return found, end
		}
		found[name] = value
		if end += size; r.isTool(name) {
			return found, end
		}
	}
}

// element reads the element at the beginning of a text as a member, and returns its size;
// 0 if there is none: <limit>3</limit>, <parameter=limit>3</parameter>, <param name="limit"
// value="3"/>. The end of a call may be missing, that of an argument only before another end.
func (r xmlReader) element(text string) (name string, value any, size int) {
	at := element().FindStringSubmatchIndex(text)
	if at == nil {
		return "", nil, 0
	}
	name, size = text[at[2]:at[3]], at[1]
	attributes, named, only, body, end := map[string]any{}, false, "", "", "</"+name+">"
	for _, pair := range attribute().FindAllStringSubmatch(text[at[3]:at[6]], -1) {
		switch given := html.UnescapeString(pair[2] + pair[3] + pair[4]); {
		case pair[1] == "", pair[1] == "name", r.isTool(given):
			name, named = given, true
		case pair[1] == "value":
			only = given
		default:
			attributes[pair[1]] = r.value(pair[1], given)
		}
	}
	if at[6] == at[7] {
		inside, _, closed := strings.Cut(text[size:], end)
		body, size = inside, size+len(inside)+len(end)
		if !closed {
			if body = r.unclosed(name, named, inside); body == "" {
				return "", nil, 0
			}
			size = at[1] + len(body)
		}
	}
	if value = attributes; strings.TrimSpace(only+body) != "" {
		value = r.value(name, only+body)
	}
	members, _ := value.(map[string]any)
	for each, inner := range members {
		if all, is := inner.(map[string]any); is && r.isTool(name) && argsName().MatchString(folded(each)) && !r.declared[each].Exists() {
			delete(members, each)
			maps.Copy(members, all)
		}
	}
	if r.isTool(value) && strings.HasSuffix(folded(name), "call") {
		value = map[string]any{"name": value}
	}
	return name, value, size
}

// unclosed is what an element without its end has: the elements of a call, or an argument
// up to the end of what it is in.
func (r xmlReader) unclosed(name string, named bool, inside string) string {
	head, _, _ := strings.Cut(inside, "<")
	outer := strings.Index(inside, "</")
	switch {
	case r.isTool(name) || r.isTool(strings.TrimSpace(head)):
		if r.whole {
			return ""
		}
		r.whole = true
		inner, length := r.members(inside[len(head):])
		if len(inner) == 0 {
			return ""
		}
		return inside[:len(head)+length]
	case named && outer > 0:
		return inside[:outer]
	case named && r.ended:
		return inside
	}
	return ""
}

// value reads a text: elements, perhaps behind a name, JSON, or the text itself.
func (r xmlReader) value(name, text string) any {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	if r.declared[name].Get("type").Str == "string" {
		return text
	}
	head, _, _ := strings.Cut(text, "<")
	r.ended = true
	if members, end := r.members(text[len(head):]); len(members) > 0 && strings.TrimSpace(text[len(head)+end:]) == "" {
		if head = strings.TrimSpace(head); head != "" {
			return map[string]any{"name": head, "args": members}
		}
		return members
	}
	if fixed, _, ok := repaired(text); ok {
		text = fixed
	}
	if value, err := jsonvalue.DecodeStored([]byte(text)); err == nil {
		return value
	}
	return strings.TrimSpace(text)
}

// propertiesOf returns the schemas of the arguments that a tool declares.
func propertiesOf(tool reasoning.Tool) map[string]gjson.Result {
	return gjson.GetBytes(tool.InputSchema, "properties").Map()
}

var (
	pythonCall = pattern.Lazy(`([A-Za-z_][\w.:-]*)\(`)
	// behindCall matches what may follow a call in Python.
	behindCall = pattern.Lazy("^[ \t]*(?:$|[\n\r\\])}<;`]|,\\s*[A-Za-z_][\\w.:-]*\\()")
)

// pythonCalls rewrites calls in Python, name(a=1, b="x"), as objects; not those amid
// prose or in an object.
func pythonCalls(text string, tools []reasoning.Tool) string {
	source, from, tries := asciiPunctuation(text), 0, 0
	objects := spans(source, false)
	var out strings.Builder
	for _, at := range pythonCall().FindAllStringSubmatchIndex(source, -1) {
		name := source[at[2]:at[3]]
		tool, known := offeredTool(name, tools)
		if !known {
			tool, known = offeredTool(strings.TrimSuffix(name, ".call"), tools) // as Llama writes it
		}
		if !known || at[0] < from || tries == maxTries || inside(objects, at[0]) {
			continue
		}
		tries++
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

// nameAtEnd matches a name at the beginning of a line, behind a mark or a label, with nothing
// but marks and labels between it and what follows.
var nameAtEnd = pattern.Lazy("(?is)(?:^|[\n>\\]=:：(|｜@])[ \t\"'`*]*([a-z_][\\w./:-]*?)[\"'`*]*(?::\\d+)?(?:\\s|<[^<>\n]*>|\\[[a-z_]+\\]|\\[call_id\\]\\w+|```[a-z]*|action[ _]input(?: \\d+)?|arguments?|args|input|json|parameters|\n[ \t*✿]*\\pL+[ *✿]*[:：]|[:=(*`>\\]])*$")

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
	return gjson.Valid(text) && gjson.Get(text, name).Exists()
}
