package engines

import (
	"encoding/json"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/schemas"
)

// maxName is the maximum length of a tool's name, in bytes, that many clients accept.
const maxName = 64

var dottedName = pattern.Lazy(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// Underscored returns the name for clients that allow no dots: "think_workflows_list"
// for "think.workflows.list".
func Underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Check returns why clients could not use a tool. INVALID_PARAMS: the name has no dot,
// is over 64 bytes or has two consecutive underscores in either spelling, or the
// description or function is missing. YAML_SCHEMA_VIOLATION: a schema does not compile
// or its root is not of type object, or the root of the input schema has combinators.
func (t Tool) Check() error {
	t.Input, t.Output = t.InputSchema(), t.OutputSchema()
	err := (&registeredTool{tool: t}).examine()
	if err == nil {
		_, err = t.compileOutput()
	}
	return err
}

// examine is Check, but does not compile output schemas, nor read those of Bind's types.
func (r *registeredTool) examine() error {
	t := r.tool
	if !dottedName().MatchString(t.Name) || len(t.Name) > maxName || strings.Contains(Underscored(t.Name), "__") {
		return fault.New(fault.InvalidParams, "%q is not a tool name: expected engine.tool of letters, digits, - and single _, at most %d bytes", t.Name, maxName)
	}
	if t.Description == "" || t.Call == nil {
		return fault.New(fault.InvalidParams, "tool %s needs a description and a function", t.Name)
	}
	if len(t.Output) > 0 {
		if _, err := objectOf(t.Name+": output", t.Output); err != nil {
			return err
		}
	}
	if t.bound() {
		return nil
	}
	in, err := r.inputs.get(t.inputs)
	if err == nil {
		_, err = in.schema()
	}
	return err
}

// rootCombinators are keywords that, at the root of an input schema, make several
// clients refuse the tool or the whole list.
var rootCombinators = []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if"}

// rootOf reads a schema whose root must be a plain object.
func rootOf(what string, raw json.RawMessage) (map[string]any, error) {
	root, err := objectOf(what, raw)
	if err != nil {
		return nil, err
	}
	for _, keyword := range rootCombinators {
		if _, has := root[keyword]; has {
			return nil, fault.New(fault.YAMLSchemaViolation, "%s schema: %s at the root", what, keyword)
		}
	}
	return root, nil
}

// objectOf reads a schema whose root must be an object.
func objectOf(what string, raw json.RawMessage) (map[string]any, error) {
	value, err := jsonvalue.Decode(raw)
	if err != nil {
		return nil, fault.New(fault.YAMLSchemaViolation, "%s schema: %w", what, err)
	}
	root, _ := value.(map[string]any)
	if root["type"] != "object" {
		return nil, fault.New(fault.YAMLSchemaViolation, "%s schema: the root must have the type object", what)
	}
	return root, nil
}

func compile(what string, root map[string]any) (*schemas.Schema, error) {
	set, err := schemas.Load()
	if err != nil {
		return nil, err
	}
	schema, err := set.Inline(root)
	if err != nil {
		coded := fault.From(err)
		return nil, fault.New(coded.Code, "%s schema: %s", what, coded.Message()).With(coded.Diagnostics...)
	}
	return schema, nil
}
