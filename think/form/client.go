package form

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

// Client returns the form as MCP clients take it: a flat object of plain values, in order.
// A list of choices is a boolean for each, any value that is not plain a text with JSON.
func (f Form) Client() json.RawMessage {
	var required []string
	var properties jsonvalue.Object
	f.inputs(func(key string, each *Field, option *Option) {
		properties.Add(key, each.property(option))
		if each.Mandatory && !each.Nullable() {
			required = append(required, key)
		}
	})
	var out jsonvalue.Object
	out.Add("type", "object")
	out.Add("properties", properties)
	if len(required) > 0 {
		out.Add("required", required)
	}
	raw, err := jsonvalue.Encode(out)
	if err != nil {
		return nil // never: the values come from JSON
	}
	return raw
}

// inputs visits the inputs of a client's form by their names, which are unique: a field, or
// an option of a field of Choices.
func (f Form) inputs(visit func(key string, each *Field, option *Option)) {
	taken := map[string]bool{}
	for _, each := range f.Root.Fields {
		taken[each.key] = true // members of the answer itself keep their names
	}
	unique := func(name string) string {
		key := name
		for n := 2; taken[key]; n++ {
			key = name + "_" + strconv.Itoa(n)
		}
		taken[key] = true
		return key
	}
	for _, each := range f.Fields() {
		name := each.Name
		if each == f.Root {
			name = "answer"
		}
		switch {
		case each.Kind == Choices:
			for i := range each.Choices {
				visit(unique(name+"."+each.Choices[i].Text), each, &each.Choices[i])
			}
		case slices.Contains(f.Root.Fields, each):
			visit(name, each, nil)
		default:
			visit(unique(name), each, nil)
		}
	}
}

// property returns the schema of an input.
func (f *Field) property(option *Option) jsonvalue.Object {
	var out jsonvalue.Object
	kind, title, about := string(f.Kind), f.Title, f.Description
	switch {
	case option != nil:
		title = strings.TrimSpace(f.label() + ": " + option.label())
		kind = "boolean"
	case f.Kind == Choice, f.Kind == Text, f.Kind == JSON:
		kind = "string"
	}
	hint := f.Limits
	if option == nil {
		schema := maps.Clone(f.schema)
		maps.DeleteFunc(schema, func(name string, _ any) bool { return slices.Contains(f.shared(), name) })
		hint = limits(schema)
	}
	if f.Kind == JSON {
		hint = strings.TrimSuffix(strings.TrimSpace(strings.Join(f.Types, " or ")+" as JSON")+", "+hint, ", ")
	}
	if hint != "" && about != "" {
		hint = " (" + hint + ")"
	}
	if title == "" && f.Pointer == "" {
		title = "Answer"
	}
	out.Add("type", kind)
	if title != "" {
		out.Add("title", title)
	}
	if about += hint; about != "" {
		out.Add("description", about)
	}
	switch {
	case option != nil:
		out.Add("default", f.HasByDefault(*option))
		return out
	case f.Kind == Choice:
		texts, titles, titled := make([]string, len(f.Choices)), make([]string, len(f.Choices)), false
		for i, each := range f.Choices {
			texts[i], titles[i], titled = each.Text, visible.Characters(each.label()), titled || each.Title != ""
			if f.HasByDefault(each) {
				out.Add("default", each.Text)
			}
		}
		out.Add("enum", texts)
		if titled {
			out.Add("enumNames", titles)
		}
		return out
	}
	for _, name := range f.shared() {
		if value, has := f.schema[name]; has {
			out.Add(name, value)
		}
	}
	if fits := map[Kind]string{Text: "string", Integer: "integer", Number: "number", Boolean: "boolean"}[f.Kind]; f.HasDefault && isKind(f.Default, fits) {
		out.Add("default", f.Default)
	}
	return out
}

// shared are the keywords of the field's schema that a client's form has too.
func (f *Field) shared() []string {
	switch f.Kind {
	case Text:
		if slices.Contains([]any{"email", "uri", "date", "date-time"}, f.schema["format"]) {
			return []string{"minLength", "maxLength", "format"}
		}
		return []string{"minLength", "maxLength"}
	case Integer, Number:
		return []string{"minimum", "maximum"}
	}
	return nil
}

// isKind reports whether a value has a plain type.
func isKind(value any, kind string) bool {
	is := jsonvalue.Kind(value)
	return kind != "" && (is == kind || kind == "number" && is == "integer")
}

func (f *Field) label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

func (o Option) label() string {
	if o.Title != "" {
		return o.Title
	}
	return o.Text
}

// FromClient reads what a client's form holds. What does not fit stays as it is, so that
// the schema refuses it.
func (f Form) FromClient(content map[string]any) (value any, given bool) {
	filled, rest := Filled{}, maps.Clone(content)
	f.inputs(func(key string, each *Field, option *Option) {
		value, has := content[key]
		delete(rest, key)
		if !has || value == nil && !each.Nullable() {
			return
		}
		if option == nil {
			filled[each.Pointer] = each.fromClient(value)
			return
		}
		list, _ := filled[each.Pointer].([]any)
		if ticked, is := value.(bool); !is {
			list = append(list, value)
		} else if ticked {
			list = append(list, option.Value)
		}
		filled[each.Pointer] = list
	})
	for pointer, value := range filled {
		if list, is := value.([]any); is && len(list) == 0 {
			filled[pointer] = Untouched{[]any{}}
		}
	}
	answer, given := f.Answer(filled)
	if object, is := answer.(map[string]any); is && f.Root.Kind == Group {
		for name, value := range rest {
			if _, has := object[name]; !has {
				object[name] = value
			}
		}
	}
	return answer, given
}

func (f *Field) fromClient(value any) any {
	text, isText := value.(string)
	switch {
	case isText && f.Kind == Choice:
		for _, each := range f.Choices {
			if each.Text == text {
				return each.Value
			}
		}
	case isText && f.Kind == JSON:
		return jsonvalue.TextOrValue(text)
	}
	return value
}
