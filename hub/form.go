package hub

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// field is one input of a form generated from a schema.
type field struct {
	// Input is the name of the input: the field's position in the form, so that no name
	// from a schema is used in HTML.
	Input       string
	Name, About string
	// Control is text, lines, number, choice or json.
	Control  string
	Kind     string // the expected type, for people
	Choices  []option
	Value    string // as it was typed
	Default  string
	Required bool
	Error    string
}

// option is one choice of a field.
type option struct {
	Input, Label string
	Chosen       bool
}

// form is a form with one field per member.
type form struct {
	members []member
	fields  []field
}

// member is a named schema, for one field.
type member struct {
	name     string
	schema   map[string]any
	required bool
}

// membersOf returns the members of an object's schema, required ones first.
func membersOf(schema map[string]any) []member {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var out []member
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		described, _ := properties[name].(map[string]any)
		out = append(out, member{name, described, slices.Contains(required, any(name))})
	}
	slices.SortStableFunc(out, neededFirst)
	return out
}

func neededFirst(a, b member) int {
	switch {
	case a.required == b.required:
		return 0
	case a.required:
		return -1
	}
	return 1
}

// formOf returns the form for members.
func formOf(members []member) form {
	out := form{members, make([]field, len(members))}
	for i, each := range members {
		out.fields[i] = fieldOf(each)
		out.fields[i].Input = "field." + strconv.Itoa(i)
	}
	return out
}

func fieldOf(m member) field {
	f := field{Name: m.name, Required: m.required, Control: "text"}
	for _, name := range []string{"title", "description"} {
		if text, _ := m.schema[name].(string); text != "" && f.About == "" {
			f.About = text
		}
	}
	if standard, has := m.schema["default"]; has {
		f.Default = shownValue(standard)
	}
	f.Kind, _ = m.schema["type"].(string)
	choices := choicesOf(m.schema)
	switch {
	case len(choices) > 0:
		f.Control, f.Kind = "choice", ""
	case f.Kind == "integer", f.Kind == "number":
		f.Control = "number"
	case f.Kind == "string":
		f.Control = "lines"
	default: // an object, an array, or any value
		f.Control = "json"
		if f.Kind == "" {
			f.Kind = "value"
		}
	}
	for i, each := range choices {
		f.Choices = append(f.Choices, option{Input: strconv.Itoa(i), Label: shownChoice(each)})
	}
	return f
}

// choicesOf returns the values that a schema lets a person choose from, if any.
func choicesOf(schema map[string]any) []any {
	choices, _ := schema["enum"].([]any)
	if len(choices) == 0 && schema["type"] == "boolean" {
		return []any{true, false}
	}
	return choices
}

// shownChoice formats a choice for a person.
func shownChoice(value any) string {
	switch value {
	case true:
		return "yes"
	case false:
		return "no"
	}
	return shownValue(value)
}

func shownValue(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return compact(value)
}

// read parses the submitted values and reports whether all are valid; the fields hold
// the errors. An empty field is omitted.
func (f *form) read(sent url.Values) (values map[string]any, ok bool) {
	values, ok = map[string]any{}, true
	for i := range f.fields {
		value, given := f.fields[i].read(sent.Get(f.fields[i].Input), choicesOf(f.members[i].schema))
		if given {
			values[f.fields[i].Name] = value
		}
		ok = ok && f.fields[i].Error == ""
	}
	return values, ok
}

// read parses the input of a field; Error is why it is invalid.
func (f *field) read(typed string, choices []any) (value any, given bool) {
	f.Value = strings.ReplaceAll(typed, "\r\n", "\n") // browsers send CRLF
	switch {
	case f.Value == "" && f.Required:
		f.Error = "A value is needed."
		return nil, false
	case f.Value == "":
		return nil, false
	case f.Control == "choice":
		return f.chosen(choices)
	case f.Control == "number", f.Control == "json" && f.Kind != "value":
		return f.decoded(strings.TrimSpace(f.Value))
	case f.Control == "json":
		return jsonvalue.TextOrValue(f.Value), true
	}
	return f.Value, true
}

func (f *field) chosen(choices []any) (any, bool) {
	for i, each := range choices {
		if f.Choices[i].Input == f.Value {
			f.Choices[i].Chosen = true
			return each, true
		}
	}
	f.Error = "Choose one of the list."
	return nil, false
}

// decoded parses a value that must be JSON.
func (f *field) decoded(text string) (any, bool) {
	value, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		f.Error = fmt.Sprintf("Expected %s.", map[string]string{"integer": "a whole number", "number": "a number",
			"object": `an object as JSON, such as {"name": "value"}`, "array": `a list as JSON, such as ["one", "two"]`}[f.Kind])
		return nil, false
	}
	return value, true
}
