package expression

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// path is a read that the source spells out: where it begins and the members
// after it. It is a constant of a Program.
type path struct {
	root, name string // root is "" where the path begins at a value
	field      string // of a step
	soft       bool   // null is expected where there is no capture
	text       string // its beginning as written, for messages
	members    []member
	of         *Read // what is read of Env.Values, nil elsewhere
}

// member is one step of a path. A computed key is an argument of the call.
type member struct {
	key      any // string or int
	computed bool
	optional bool
	offset   int
}

// get evaluates a path: its arguments are the path, the value it begins at if
// it has no root, and the computed keys.
func get(e *evaluation) any {
	read := e.args[0].(*path)
	value, keys := any(nil), e.args[1:]
	switch {
	case read.of != nil:
		value = e.value(*read.of)
	case read.root == "":
		value, keys = keys[0], keys[1:]
	default:
		value = e.env.read(read)
	}
	if absence, absent := value.(Absence); absent {
		if absence == Undecided || !read.soft {
			e.lack(read, absence)
			return nil
		}
		value = nil
	}
	for i, m := range read.members {
		key := m.key
		if m.computed {
			key, keys = operand(keys[0]), keys[1:]
		}
		if value == nil && m.optional {
			return nil
		}
		if text, ok := value.(string); ok {
			e.scan(len(text))
		}
		next, problem := step(value, key, m.optional)
		if problem != "" {
			e.failAt(m.offset, "%s %s", read.upTo(i), problem)
			return nil
		}
		value = next
	}
	return value
}

// lack ends the evaluation at the read of a value that is not there.
func (e *evaluation) lack(read *path, absence Absence) {
	if absence == Undecided {
		e.fail("%s is not known yet", read.text)
		return
	}
	e.fail("%s has no value, because its step was skipped or failed; write ?. or ?? if it may be missing", read.text)
	e.err.absent = read.name
}

// read returns the value of a name in the Env. A declared name without a value is null.
func (env *Env) read(from *path) any {
	var object map[string]any
	name := from.name
	switch from.root {
	case rootState:
		if env.Steps == nil {
			return nil
		}
		return env.Steps.Capture(name)
	case rootSteps:
		if env.Steps == nil {
			return nil
		}
		return env.Steps.Field(name, from.field)
	case rootItem:
		return env.Item
	case rootResult:
		return env.Result
	case rootParams:
		object = env.Params
	case rootLoop:
		object = env.Loop
	case rootRun:
		object = env.Run
	}
	if name != "" {
		return object[name]
	}
	if object == nil {
		return map[string]any{}
	}
	return object
}

// step reads one member. The problem is "" or what is wrong with the value.
func step(value, key any, optional bool) (next any, problem string) {
	switch v := value.(type) {
	case map[string]any:
		return field(v, key, optional)
	case []any:
		return element(v, key, optional)
	case string:
		return character(v, key, optional)
	case nil:
		return nil, fmt.Sprintf("is null and has no member %s; write ?. if it may be missing", keyText(key))
	default:
		return nil, fmt.Sprintf("is %s and has no member %s", kind(value), keyText(key))
	}
}

func field(object map[string]any, key any, optional bool) (any, string) {
	name, ok := key.(string)
	if !ok {
		return nil, fmt.Sprintf("is an object and cannot be indexed with %s", kind(key))
	}
	value, found := object[name]
	if found || optional {
		return value, ""
	}
	return nil, "has no field " + quote(name) + suggestion(name, object)
}

// maxSuggested bounds the fields and the bytes of a name that are compared to
// find the nearest.
const maxSuggested = 100

// suggestion names the nearest field of an object, or some that it has.
func suggestion(name string, object map[string]any) string {
	if len(object) == 0 {
		return ": it is empty"
	}
	if len(object) > maxSuggested || len(name) > maxSuggested {
		return ""
	}
	names := slices.Sorted(maps.Keys(object))
	short := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(n) > maxSuggested })
	if meant := fault.Nearest(name, short); meant != "" {
		return ": did you mean " + quote(meant) + "?"
	}
	list, more := "", ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	for _, n := range names {
		list += ", " + quote(n)
	}
	return ": it has " + list[2:] + more
}

func element(list []any, key any, optional bool) (any, string) {
	index, ok := key.(int)
	if !ok {
		if key == "length" {
			return nil, `is a list and has no member "length": write len(…)`
		}
		return nil, fmt.Sprintf("is a list and cannot be indexed with %s", describe(key))
	}
	at, inside := absoluteIndex(index, len(list))
	switch {
	case inside:
		return list[at], ""
	case optional:
		return nil, ""
	}
	return nil, fmt.Sprintf("has %d items and no index %d", len(list), index)
}

func character(text string, key any, optional bool) (any, string) {
	index, ok := key.(int)
	if !ok {
		return nil, fmt.Sprintf("is a string and has no member %s", keyText(key))
	}
	length := utf8.RuneCountInString(text)
	at, inside := absoluteIndex(index, length)
	switch {
	case inside:
		char, _ := utf8.DecodeRuneInString(text[byteOffset(text, at):])
		return string(char), ""
	case optional:
		return nil, ""
	}
	return nil, fmt.Sprintf("has %d characters and no index %d", length, index)
}

// absoluteIndex returns where an index points; a negative one counts from the end.
func absoluteIndex(index, length int) (int, bool) {
	if index < 0 {
		index += length
	}
	return index, 0 <= index && index < length
}

// upTo writes the path before its member i.
func (p *path) upTo(i int) string {
	text := p.text
	for _, m := range p.members[:i] {
		name, isName := m.key.(string)
		switch {
		case m.computed:
			text += "[…]"
		case isName && isIdentifier(name):
			text += "." + fault.Cut(name, maxQuoted)
		default:
			text += "[" + keyText(m.key) + "]"
		}
	}
	return fault.Cut(text, 4*maxQuoted)
}

// keyText writes a key in a message.
func keyText(key any) string {
	switch k := key.(type) {
	case string:
		return quote(k)
	case int:
		return strconv.Itoa(k)
	default:
		return kind(key)
	}
}

// describe writes a key with its type.
func describe(key any) string {
	if name, ok := key.(string); ok {
		return "the string " + quote(name)
	}
	return kind(key)
}

// kind names the JSON type of a value; 2.0 is an integer.
func kind(value any) string {
	switch name := jsonvalue.Kind(operand(value)); name {
	case "null", "boolean", "integer", "number", "string", "array", "object":
		return name
	default:
		return "not a JSON value"
	}
}
