package engines

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Field is an argument of a tool, or a member of its result. A point in its name leads
// into an object, [] into a list.
type Field struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Doc      string `json:"doc,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// Description is what a person has to know to call a tool.
type Description struct {
	Arguments []Field `json:"arguments"`
	Result    []Field `json:"result"`
	// Example holds arguments that the tool accepts.
	Example json.RawMessage `json:"example"`
}

// Describe describes a tool: one that was bound to a Go function by its types, another
// one by its schemas. The example has the values of the tags "example", and a value of
// its type for every other argument that is required.
func (t Tool) Describe() (Description, error) {
	input, output := t.shapes()
	description := Description{Arguments: input.fields("", 1), Result: output.fields("", maxDepth)}
	example, err := jsonvalue.Encode(input.example())
	description.Example = example
	return description, err
}

// maxDepth is how deep members of a result are listed.
const maxDepth = 2

func (t Tool) shapes() (input, output *shape) {
	if t.takes != nil {
		return shapeOf(t.takes, enclosing{}), shapeOf(t.gives, enclosing{open: true})
	}
	return parseShape(t.Input), parseShape(t.Output)
}

// parseShape reads what a schema says of an object; other schemas have no fields.
func parseShape(schema json.RawMessage) *shape {
	made := &shape{Properties: new(jsonvalue.Object)}
	if len(schema) == 0 {
		return made
	}
	var given struct {
		Type, Description any
		Items             json.RawMessage
		Required          []string
		Properties        map[string]json.RawMessage
		Enum              []any
	}
	if err := json.Unmarshal(schema, &given); err != nil {
		return made // true and false are schemas, too
	}
	made.Type, _ = given.Type.(string)
	made.Description, _ = given.Description.(string)
	made.Required = given.Required
	for _, each := range given.Enum {
		if text, ok := each.(string); ok {
			made.Enum = append(made.Enum, text)
		}
	}
	if len(given.Items) > 0 {
		made.Items = parseShape(given.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(given.Properties)) {
		made.Properties.Add(name, parseShape(given.Properties[name]))
	}
	return made
}

// fields lists the members of an object and, to a depth, those within them.
func (s *shape) fields(prefix string, depth int) (found []Field) {
	if s.Properties == nil {
		return nil
	}
	for _, each := range *s.Properties {
		inner := each.Value.(*shape)
		name := prefix + each.Name
		found = append(found, Field{Name: name, Type: inner.typeName(), Doc: inner.Description, Required: slices.Contains(s.Required, each.Name)})
		if depth > 1 {
			below := inner
			path := name + "."
			if inner.Items != nil {
				below, path = inner.Items, name+"[]."
			}
			found = append(found, below.fields(path, depth-1)...)
		}
	}
	return found
}

// typeName says in a few words what a value is.
func (s *shape) typeName() string {
	switch {
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, ", ")
	case s.Type == "array" && s.Items != nil && s.Items.Type != "":
		return "list of " + map[string]string{"string": "text", "object": "objects", "integer": "numbers", "number": "numbers", "array": "lists", "boolean": "yes or no"}[s.Items.Type]
	case len(s.Minimum) > 0 && len(s.Maximum) > 0:
		return fmt.Sprintf("%s to %s", s.Minimum, s.Maximum)
	case len(s.Minimum) > 0:
		return fmt.Sprintf("%s or more", s.Minimum)
	}
	if name, known := map[string]string{"string": "text", "integer": "number", "number": "number", "boolean": "yes or no", "array": "list", "object": "object"}[s.Type]; known {
		return name
	}
	return "any"
}

// example is a value of the shape.
func (s *shape) example() any {
	switch {
	case s.Example != "" && s.Type == "string":
		return s.Example
	case s.Example != "":
		return json.RawMessage(s.Example)
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Minimum) > 0:
		return s.Minimum
	}
	switch s.Type {
	case "string":
		return "text"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	}
	made := jsonvalue.Object{}
	if s.Properties == nil {
		return made
	}
	for _, each := range *s.Properties {
		inner := each.Value.(*shape)
		if inner.Example != "" || slices.Contains(s.Required, each.Name) {
			made.Add(each.Name, inner.example())
		}
	}
	return made
}

// Step is the step of a workflow that calls a tool with arguments, in YAML; empty for the
// tools that control runs, which no step calls.
func Step(tool string, arguments json.RawMessage) string {
	engine := EngineOf(tool)
	if engine == "think" || engine == "agent" {
		return ""
	}
	name := tool[strings.LastIndexByte(tool, '.')+1:]
	input := ""
	if text := memberName().ReplaceAllStringFunc(string(arguments), yamlName); text != "{}" {
		input = "  input_template: " + text + "\n"
	}
	return fmt.Sprintf("- id: %s\n  call: %s\n%s  capture_as: %s\n", name, tool, input, name)
}

// memberName finds the name of a member in JSON, with what stands before it: a quotation
// mark within a text has a backslash before it.
var memberName = pattern.Lazy(`[{,]"[A-Za-z_]+":`)

// yamlName is a member's name in YAML.
func yamlName(name string) string {
	plain := strings.ReplaceAll(name[1:], "\"", "") + " "
	if name[0] == ',' {
		return ", " + plain
	}
	return name[:1] + plain
}
