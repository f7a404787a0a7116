package mount

import (
	"encoding/json"
	"maps"
	"strings"

	"savant/internal/jsonvalue"
)

// modern returns a schema without the label of an older draft. Clients refuse a tool with one
// that they do not know, though the schema means the same without it in most cases; the
// keywords that older drafts use differently are rewritten as 2020-12 has them.
func modern(schema map[string]any) map[string]any {
	label, has := schema["$schema"]
	if text, _ := label.(string); !has || strings.Contains(text, "draft/2020-12/") {
		return schema
	}
	made := maps.Clone(schema)
	delete(made, "$schema")
	made, _ = rewritten(made).(map[string]any)
	return made
}

// modernOutput is modern for an output schema; empty: there is none.
func modernOutput(output json.RawMessage) (json.RawMessage, error) {
	schema, err := jsonvalue.Decode(output)
	object, is := schema.(map[string]any)
	if err != nil || !is || object["$schema"] == nil {
		return output, nil // whether it can be published is examined later
	}
	return jsonvalue.Encode(modern(object))
}

// Keywords whose value is data, and those whose members are schemas.
var (
	dataKeywords   = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "required": true}
	schemasByNames = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true}
)

// rewritten returns a schema of an older draft, or a list of some, as 2020-12 has it.
func rewritten(value any) any {
	switch value := value.(type) {
	case []any:
		made := make([]any, len(value))
		for i, each := range value {
			made[i] = rewritten(each)
		}
		return made
	case map[string]any:
		made := make(map[string]any, len(value))
		for keyword, inner := range value {
			members, named := inner.(map[string]any)
			switch {
			case dataKeywords[keyword]:
				made[keyword] = inner
			case named && schemasByNames[keyword]:
				schemas := make(map[string]any, len(members))
				for name, each := range members {
					schemas[name] = rewritten(each)
				}
				made[keyword] = schemas
			default:
				made[keyword] = rewritten(inner)
			}
		}
		rewriteTuple(made)
		rewriteDependencies(made)
		return made
	}
	return value
}

// rewriteTuple rewrites items that are a list, and what follows them.
func rewriteTuple(schema map[string]any) {
	tuple, is := schema["items"].([]any)
	if !is {
		return
	}
	schema["prefixItems"] = tuple
	delete(schema, "items")
	if more, has := schema["additionalItems"]; has {
		schema["items"] = more
		delete(schema, "additionalItems")
	}
}

// rewriteDependencies splits dependencies into those on names and those on schemas.
func rewriteDependencies(schema map[string]any) {
	given, is := schema["dependencies"].(map[string]any)
	if !is {
		return
	}
	names, schemas := map[string]any{}, map[string]any{}
	for name, each := range given {
		if _, list := each.([]any); list {
			names[name] = each
		} else {
			schemas[name] = each
		}
	}
	delete(schema, "dependencies")
	if len(names) > 0 {
		schema["dependentRequired"] = names
	}
	if len(schemas) > 0 {
		schema["dependentSchemas"] = schemas
	}
}
