package mount

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/schemas"
)

// maxDescription is the maximum published length of a tool's description, in bytes.
const maxDescription = 1900

// serverChecks is added to the description of a tool whose published input schema is
// weaker than its own.
const serverChecks = " (The server has further rules for the arguments and checks them.)"

// adaptSchema returns the publishable tool of a definition. The input schema is the
// server's if every client can read it; else a simplified one, and the server validates
// the arguments. The output schema is the server's, if it can be published.
func adaptSchema(engine, name string, definition mcpclient.Definition) (engines.Tool, error) {
	tool, err := definition.Tool()
	if err != nil {
		return engines.Tool{}, err
	}
	tool.Name, tool.Eager = name, false
	if strings.TrimSpace(tool.Title) == "" {
		tool.Title = definition.Name
	}
	tool.Title = fault.Cut(visible.Line(tool.Title), 100)
	description := visible.Text(strings.TrimSpace(tool.Description))
	description = cmp.Or(description, "The tool "+definition.Name+" of the MCP server "+engine+", which gives no description.")
	schema, err := jsonvalue.Decode(tool.Input)
	if err != nil && len(tool.Input) > 0 {
		return engines.Tool{}, fault.New(fault.ValidationFailed, "its input schema is not JSON: %w", err)
	}
	raw, _ := schema.(map[string]any)
	raw = modern(raw)
	output, err := modernOutput(tool.Output)
	if err != nil {
		return engines.Tool{}, err
	}
	tool.Output = output
	for _, form := range []func(map[string]any) (map[string]any, bool){flattenAlternatives, outlined, bare} {
		fitted, whole := form(raw)
		if tool.Input, err = jsonvalue.Encode(fitted); err != nil {
			return engines.Tool{}, err
		}
		tool.Description = fault.Cut(description, maxDescription)
		if !whole {
			tool.Description += serverChecks
		}
		// Check requires a function; publishing sets the real one.
		tool.Call = notYet
		if err = mcpio.Publishable(tool); err != nil && len(tool.Output) > 0 {
			tool.Output = nil
			err = mcpio.Publishable(tool)
		}
		if err == nil {
			return tool, nil
		}
		tool.Output = output
	}
	return engines.Tool{}, err
}

// combinators must not be at the root of a published schema: clients refuse such a
// tool, or the whole list.
var combinators = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "unevaluatedProperties", "dependentSchemas"}

// flattenAlternatives returns a schema whose root is a plain object with the properties of all
// alternatives. whole means that nothing was changed.
func flattenAlternatives(raw map[string]any) (flat map[string]any, whole bool) {
	flat = maps.Clone(raw)
	if flat == nil {
		return map[string]any{"type": "object"}, true
	}
	delete(flat, "$id") // references stay within the definition
	flat["type"] = "object"
	if !slices.ContainsFunc(combinators, func(keyword string) bool { _, has := flat[keyword]; return has }) {
		return flat, true
	}
	properties, _ := flat["properties"].(map[string]any)
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]any{}
	}
	gather(raw, raw, properties, 0)
	for _, keyword := range combinators {
		delete(flat, keyword)
	}
	flat["properties"] = properties
	if flat["additionalProperties"] != false {
		flat["additionalProperties"] = true
	}
	return flat, false
}

// maxGather bounds the depth of nested alternatives.
const maxGather = 4

// gather adds the properties of a schema's alternatives to into.
func gather(root, schema, into map[string]any, depth int) {
	if depth > maxGather {
		return
	}
	var parts []any
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		parts = append(parts, list...)
	}
	parts = append(parts, schema["if"], schema["then"], schema["else"])
	if reference, is := schema["$ref"].(string); is {
		parts = append(parts, schemas.Definition(root, reference))
	}
	for _, part := range parts {
		alternative, _ := part.(map[string]any)
		properties, _ := alternative["properties"].(map[string]any)
		for name, property := range properties {
			if _, has := into[name]; !has {
				into[name] = property
			}
		}
		if alternative != nil {
			gather(root, alternative, into, depth+1)
		}
	}
}

// outlined returns a schema with only names, simple types and short descriptions, for
// one that is too large or does not compile.
func outlined(raw map[string]any) (map[string]any, bool) {
	const shortest = 200
	flat, _ := flattenAlternatives(raw)
	made := map[string]any{"type": "object", "additionalProperties": true}
	properties, _ := flat["properties"].(map[string]any)
	named := map[string]any{}
	for name, property := range properties {
		full, _ := property.(map[string]any)
		short := map[string]any{}
		if kind, is := full["type"].(string); is && slices.Contains(simpleTypes, kind) {
			short["type"] = kind
		}
		if text, is := full["description"].(string); is {
			short["description"] = fault.Cut(text, shortest)
		}
		named[name] = short
	}
	made["properties"] = named
	if required, is := flat["required"].([]any); is {
		made["required"] = required
	}
	return made, false
}

var simpleTypes = []string{"string", "number", "integer", "boolean", "array", "object"}

// bare returns a schema that accepts any object.
func bare(map[string]any) (map[string]any, bool) {
	return map[string]any{"type": "object", "additionalProperties": true}, false
}

// pinnedMembers are the members of a definition that models and clients act on.
var pinnedMembers = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// pinOf returns the pin of a definition, in the canonical encoding.
func pinOf(definition mcpclient.Definition) (pin, error) {
	whole, err := jsonvalue.Decode(definition.Raw)
	if err != nil {
		return pin{}, fault.New(fault.ValidationFailed, "its definition is not valid JSON: %w", err)
	}
	members, _ := whole.(map[string]any)
	kept := map[string]any{}
	for _, name := range pinnedMembers {
		if member, has := members[name]; has {
			kept[name] = member
		}
	}
	encoded, err := jsonvalue.Encode(kept)
	if err != nil {
		return pin{}, err
	}
	digest, err := jsonvalue.Digest(kept)
	return pin{Digest: digest, Definition: json.RawMessage(encoded)}, err
}
