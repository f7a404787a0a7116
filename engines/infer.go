package engines

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// SchemaOf returns the JSON Schema of a Go struct. It is as short as possible, because
// a model reads it with every request.
//
//	type In struct {
//		Workflow string         `json:"workflow" doc:"Name of the workflow." example:"hello"`
//		Style    string         `json:"style,omitempty" enum:"short,long"`
//		Limit    int            `json:"limit,omitempty" min:"1" max:"500"`
//		Params   map[string]any `json:"params,omitempty"`
//		Result   json.RawMessage `json:"result,omitempty"`
//	}
//
// The tag list is of Tool.ListedInput. The tag example is for Tool.Describe alone; of a field
// that is no text it is JSON. A
// field is required unless it has omitempty or omitzero. json.RawMessage and any
// accept any value. SchemaOf panics for a recursive type and for one that JSON Schema
// cannot describe: both are programming errors.
func SchemaOf[T any]() json.RawMessage {
	return schemaOf(reflect.TypeFor[T](), enclosing{})
}

func schemaOf(t reflect.Type, within enclosing) json.RawMessage {
	shape := shapeOf(t, within)
	if shape.Type != "object" {
		panic(fmt.Sprintf("engines: %v is not a struct", t))
	}
	data, err := jsonvalue.Encode(shape)
	if err != nil {
		panic(fmt.Sprintf("engines: %v: %v", t, err))
	}
	return data
}

// ListedInput is the input schema that models read with each request. Of a tool that Bind
// made it has no field with the tag `list:"no"`, which a model does not need, and of one with
// `list:"brief"`, which a model passes on as it got it, the type. Calls may have all. Each
// object has properties, if only none: the APIs of some models refuse a list with one that
// has not.
func (t Tool) ListedInput() json.RawMessage {
	if !t.bound() {
		return withProperties(t.Input)
	}
	return schemaOf(t.takes, enclosing{listed: true})
}

// InputSchema returns the schema of the tool's arguments.
func (t Tool) InputSchema() json.RawMessage {
	if t.bound() {
		return t.input()
	}
	return t.Input
}

// OutputSchema returns the schema of the tool's results; empty if they have no exact one.
func (t Tool) OutputSchema() json.RawMessage {
	if t.exact() {
		return t.output()
	}
	return t.Output
}

// bound and exact report whether a schema is that of Bind's type.
func (t Tool) bound() bool { return len(t.Input) == 0 && t.input != nil }
func (t Tool) exact() bool { return t.Exact && len(t.Output) == 0 && t.output != nil }

// withProperties adds properties to the root of a schema that somebody else has written.
func withProperties(schema json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil || root == nil || root["properties"] != nil {
		return schema // the tool's check reports what is no object
	}
	root["properties"] = json.RawMessage(`{}`)
	whole, err := json.Marshal(root)
	if err != nil {
		return schema
	}
	return whole
}

// shape is a JSON Schema whose members are written in a readable order.
type shape struct {
	Type        string            `json:"type,omitempty"`
	Description string            `json:"description,omitempty"`
	Enum        []string          `json:"enum,omitempty"`
	Minimum     json.RawMessage   `json:"minimum,omitempty"`
	Maximum     json.RawMessage   `json:"maximum,omitempty"`
	Items       *shape            `json:"items,omitempty"`
	Properties  *jsonvalue.Object `json:"properties,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Additional  *shape            `json:"additionalProperties,omitempty"`
	// Example is a value for people; it is not published.
	Example string `json:"-"`
}

// enclosing is what a type is described in: the structs around it, to detect recursion. What
// is open need not have a schema: what contains itself, or writes its own JSON, is any value
// there, and no member is required.
type enclosing struct {
	open bool
	// listed: the schema is a tool's ListedInput; shallow: members have their types alone.
	listed, shallow bool
	structs         []reflect.Type
}

// shapeOf describes a type.
func shapeOf(t reflect.Type, within enclosing) *shape {
	if t.Kind() == reflect.Pointer {
		return shapeOf(t.Elem(), within)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && t != reflect.TypeFor[json.RawMessage]() && t.Kind() == reflect.Struct && !isText(t) {
		return &shape{}
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface, within.open && (reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) || slices.Contains(within.structs, t)):
		return &shape{}
	case t == reflect.TypeFor[json.Number]():
		return &shape{Type: "number"}
	case isText(t):
		return &shape{Type: "string"}
	}
	return shapeOfKind(t, within)
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func shapeOfKind(t reflect.Type, within enclosing) *shape {
	switch t.Kind() {
	case reflect.String:
		return &shape{Type: "string"}
	case reflect.Bool:
		return &shape{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &shape{Type: "integer"}
	case reflect.Float32, reflect.Float64:
		return &shape{Type: "number"}
	case reflect.Slice, reflect.Array:
		return &shape{Type: "array", Items: unlessEmpty(shapeOf(t.Elem(), within))}
	case reflect.Map:
		made := &shape{Type: "object", Additional: unlessEmpty(shapeOf(t.Elem(), within))}
		if within.listed {
			made.Properties = new(jsonvalue.Object)
		}
		return made
	case reflect.Struct:
		return shapeOfStruct(t, within)
	}
	panic(fmt.Sprintf("engines: no JSON Schema describes %v", t))
}

// unlessEmpty omits a schema that accepts anything.
func unlessEmpty(s *shape) *shape {
	if s.Type == "" {
		return nil
	}
	return s
}

func shapeOfStruct(t reflect.Type, within enclosing) *shape {
	if slices.Contains(within.structs, t) {
		panic(fmt.Sprintf("engines: %v contains itself", t))
	}
	within.structs = append(slices.Clip(within.structs), t)
	made := &shape{Type: "object", Properties: new(jsonvalue.Object)}
	for i := range t.NumField() {
		made.addField(t.Field(i), within)
	}
	return made
}

func (s *shape) addField(field reflect.StructField, within enclosing) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if field.Anonymous && name == "" {
		inner := shapeOf(field.Type, within)
		*s.Properties = append(*s.Properties, *inner.Properties...)
		s.Required = append(s.Required, inner.Required...)
		return
	}
	list := field.Tag.Get("list")
	if !field.IsExported() || name == "-" || within.listed && list == "no" {
		return
	}
	name = cmp.Or(name, field.Name)
	described := shapeOf(field.Type, within)
	described.annotate(field.Tag)
	if within.listed {
		described.shorten(list == "brief")
	}
	if within.shallow {
		described = &shape{Type: described.Type, Enum: described.Enum}
	}
	s.Properties.Add(name, described)
	if !within.open && !strings.Contains(options, "omit") {
		s.Required = append(s.Required, name)
	}
}

// shorten omits the least count that goes without saying and, where brief is asked, all but
// the type. A list keeps the type of its items, since some models' APIs take none without.
func (s *shape) shorten(brief bool) {
	if least := string(s.Minimum); least == "0" || least == "1" {
		s.Minimum = nil
	}
	if !brief {
		return
	}
	if s.Properties != nil {
		s.Properties = new(jsonvalue.Object)
	}
	s.Required = nil
	if s.Items != nil {
		s.Items.shorten(true)
	}
}

// annotate reads the tags doc, example, enum, min and max.
func (s *shape) annotate(tag reflect.StructTag) {
	s.Description, s.Example = tag.Get("doc"), tag.Get("example")
	if choices := tag.Get("enum"); choices != "" {
		s.Enum = strings.Split(choices, ",")
	}
	s.Minimum, s.Maximum = number(tag.Get("min")), number(tag.Get("max"))
}

func number(text string) json.RawMessage {
	if _, err := strconv.ParseFloat(text, 64); err != nil && text != "" {
		panic(fmt.Sprintf("engines: the bound %q is not a number", text))
	}
	return json.RawMessage(text)
}
