// Package form is the form of a question to a person: the fields that a JSON Schema asks
// for, in the order in which they are written. A terminal, a page and a client's form all
// show this one, and make the answer with it.
package form

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

// Kind is what is filled in at a field.
type Kind string

// The kinds of fields.
const (
	Text    Kind = "text"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Choice  Kind = "choice"  // one of Choices
	Choices Kind = "choices" // a list of some of Choices
	Group   Kind = "group"   // the fields of an object
	Null    Kind = "null"    // nothing is filled in
	JSON    Kind = "json"    // any other value, as JSON
)

// Field is a value to fill in, or a Group of them.
type Field struct {
	// Name is shown: the names of the members on the way, joined by dots. It is Answer for
	// an answer that is no object.
	Name string
	// Pointer is where the value is in the answer, as a JSON pointer.
	Pointer string
	Kind    Kind
	// Title and Description are the schema's own, or "".
	Title, Description string
	// Types are the schema's types; none allows any.
	Types []string
	// Limits says in words which values fit beyond the type, or "".
	Limits string
	// Required says that the object above needs it; Mandatory that so do all above that.
	Required, Mandatory bool
	Choices             []Option
	Default             any
	HasDefault          bool
	// Fields are those of a Group.
	Fields []*Field

	key    string // the member of the object above
	schema map[string]any
}

// Form is a question, as the fields of its answer.
type Form struct {
	// Root is the whole answer: a Group, or the only field.
	Root *Field
	// Schema is what the answer has to fit, as it is written; nil allows any text.
	Schema []byte
}

const (
	maxDepth  = 4   // groups inside each other; what is deeper is filled in as JSON
	maxFields = 500 // of a form; an answer with more is one value of JSON
)

// New returns the form of a schema as it is written in JSON. Without a schema, or with one
// that cannot be read, it asks for one text.
func New(schema []byte) Form {
	b := builder{}
	node, err := jsonvalue.Read(schema)
	if len(schema) == 0 || err != nil {
		return Form{Root: &Field{Name: "Answer", Kind: Text, Types: []string{"string"}, Required: true, Mandatory: true}}
	}
	b.root = node
	root := b.field("", node, 0)
	if b.fields > maxFields {
		root = &Field{Kind: JSON, Types: root.Types, Title: root.Title, Description: root.Description}
	}
	root.Required = true
	root.locate("", true)
	if root.Kind != Group {
		root.Name = "Answer"
	}
	return Form{Root: root, Schema: schema}
}

// IsVisible reports whether every name and value of the schema can be seen.
func (f Form) IsVisible() bool {
	value, _ := jsonvalue.DecodeStored(f.Schema)
	_, seen := visible.Schema(value)
	return seen
}

// Whole reports whether the fields show everything that can be filled in: none is JSON.
func (f Form) Whole() bool {
	return !slices.ContainsFunc(f.Fields(), func(each *Field) bool { return each.Kind == JSON })
}

// Fields returns the fields that are filled in, in order, those of groups too.
func (f Form) Fields() []*Field { return f.Root.leaves(nil) }

func (f *Field) leaves(list []*Field) []*Field {
	switch f.Kind {
	case Null:
		return list
	case Group:
		for _, each := range f.Fields {
			list = each.leaves(list)
		}
		return list
	}
	return append(list, f)
}

// Nullable reports whether null fits where nothing is filled in.
func (f *Field) Nullable() bool { return len(f.Choices) == 0 && slices.Contains(f.Types, "null") }

// Only returns the one type beside null, or "".
func (f *Field) Only() string {
	types := slices.DeleteFunc(slices.Clone(f.Types), func(kind string) bool { return kind == "null" })
	if len(types) != 1 {
		return ""
	}
	return types[0]
}

// builder makes the fields of a schema.
type builder struct {
	root   jsonvalue.Node
	fields int // made so far
}

func (b *builder) field(name string, node jsonvalue.Node, depth int) *Field {
	b.fields++
	node = b.resolved(node)
	schema, _ := valueOf(node).(map[string]any)
	f := &Field{Name: name, schema: schema, Types: jsonvalue.Texts(schema["type"]), Limits: limits(schema)}
	f.Title, f.Description = shownText(schema["title"]), shownText(schema["description"])
	f.Default, f.HasDefault = schema["default"]
	f.Choices = optionsOf(schema)
	only := f.Only()
	properties := node.Member("properties")
	switch {
	case len(f.Choices) > 0:
		f.Kind = Choice
	case slices.Equal(f.Types, []string{"null"}):
		f.Kind = Null
	case len(properties.Members) > 0 && (only == "object" || len(f.Types) == 0) && depth < maxDepth && b.fields <= maxFields:
		f.Kind = Group
		b.group(f, properties, depth)
	case only == "object" && schema["additionalProperties"] == false: // there is nothing to fill in
		f.Kind = Group
	case only == "array":
		items, _ := valueOf(b.resolved(node.Member("items"))).(map[string]any)
		if f.Choices = optionsOf(items); len(f.Choices) > 0 {
			f.Kind = Choices
			break
		}
		f.Kind = JSON
	case only == "string", only == "integer", only == "number", only == "boolean":
		f.Kind = map[string]Kind{"string": Text, "integer": Integer, "number": Number, "boolean": Boolean}[only]
	default:
		f.Kind = JSON
	}
	return f
}

// shownText returns a text with what cannot be seen written out.
func shownText(value any) string {
	text, _ := value.(string)
	return visible.Characters(text)
}

// group adds the fields of an object.
func (b *builder) group(f *Field, properties jsonvalue.Node, depth int) {
	required, _ := f.schema["required"].([]any)
	seen := map[string]bool{}
	for _, each := range properties.Members {
		if seen[each.Name] || b.fields > maxFields {
			continue
		}
		seen[each.Name] = true
		name := each.Name
		if f.Name != "" {
			name = f.Name + "." + name
		}
		field := b.field(name, each.Value, depth+1)
		field.key, field.Required = each.Name, slices.Contains(required, any(each.Name))
		f.Fields = append(f.Fields, field)
	}
}

// locate sets where the field and those in it are in the answer.
func (f *Field) locate(at string, mandatory bool) {
	f.Pointer, f.Mandatory = at, f.Required && mandatory
	for _, each := range f.Fields {
		each.locate(at+jsonvalue.Token(each.key), f.Mandatory)
	}
}

// maxRefs is how many references lead to a schema at most.
const maxRefs = 10

// annotations are keywords that say something of a value and demand nothing, beside those
// that name parts of a schema.
var annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs", "definitions", "$schema", "$id"}

// resolved follows references within the schema. What is said beside a reference is said
// of the field; one beside which something is demanded stays as it is.
func (b *builder) resolved(node jsonvalue.Node) jsonvalue.Node {
	for range maxRefs {
		target, keyword := b.target(node)
		beside := slices.DeleteFunc(slices.Clone(node.Members), func(m jsonvalue.NodeMember) bool { return m.Name == keyword })
		if keyword == "" || slices.ContainsFunc(beside, func(m jsonvalue.NodeMember) bool { return !slices.Contains(annotations, m.Name) }) {
			break
		}
		if len(beside) == 0 || target.Members == nil {
			node = target
			continue
		}
		merged := jsonvalue.Object{}
		for _, each := range target.Members {
			if _, over := existing(node, each.Name); !over {
				beside = append(beside, each)
			}
		}
		for _, each := range beside {
			merged.Add(each.Name, json.RawMessage(each.Value.Raw))
		}
		raw, err := jsonvalue.Encode(merged)
		if err != nil {
			break // never: its members are JSON
		}
		node = jsonvalue.Node{Raw: raw, Members: beside}
	}
	return node
}

// target returns the schema that a field's schema refers to, and by which keyword: a
// reference, or allOf with one part.
func (b *builder) target(node jsonvalue.Node) (target jsonvalue.Node, keyword string) {
	if parts := node.Member("allOf").Items; len(parts) == 1 {
		return parts[0], "allOf"
	}
	to, inside := strings.CutPrefix(jsonvalue.Text(node.Member("$ref").Raw), "#")
	target, found := b.root, inside && (to == "" || to[0] == '/')
	for token := range jsonvalue.Tokens(to) {
		if found {
			target, found = existing(target, token)
		}
	}
	if !found {
		return jsonvalue.Node{}, ""
	}
	return target, "$ref"
}

func existing(node jsonvalue.Node, name string) (jsonvalue.Node, bool) {
	at := slices.IndexFunc(node.Members, func(m jsonvalue.NodeMember) bool { return m.Name == name })
	if at < 0 {
		return jsonvalue.Node{}, false
	}
	return node.Members[at].Value, true
}

func valueOf(node jsonvalue.Node) any {
	value, err := jsonvalue.DecodeStored(node.Raw)
	if err != nil {
		return nil
	}
	return value
}

// Filled is what was filled in, by the pointers of the fields. A group with any value is
// there though nothing in it was filled in.
type Filled map[string]any

// Untouched is the value of a box that is not ticked, or of a list none of whose boxes
// is. It does not make an optional object that it is in.
type Untouched struct{ Value any }

// Answer returns the value of a form that was filled in. given is false if it is no
// object, and nothing was.
func (f Form) Answer(filled Filled) (value any, given bool) {
	value, given, _ = f.Root.assemble(filled)
	return value, given
}

// assemble returns the value of a field; touched says that a person gave a part of it.
func (f *Field) assemble(filled Filled) (value any, given, touched bool) {
	if f.Kind != Group {
		value, given = filled[f.Pointer]
		if implied, is := value.(Untouched); is {
			return implied.Value, true, false
		}
		return value, given || f.Required && f.Nullable(), given
	}
	object := map[string]any{}
	_, touched = filled[f.Pointer]
	for _, each := range f.Fields {
		inside, has, by := each.assemble(filled)
		if has {
			object[each.key] = inside
		}
		touched = touched || by
	}
	if !touched && f.Required && f.Nullable() && f.Pointer != "" {
		return nil, true, false
	}
	return object, touched || f.Required, touched
}
