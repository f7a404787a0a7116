package mount

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// modern returns a schema as JSON Schema 2020-12 has it, which MCP takes for a schema without
// a label. Clients refuse a tool with the label of an older draft, and read the keywords that
// older drafts use differently in their own way; both are taken off, wherever they stand. The
// sources are the "migration from" sections of the drafts' release notes.
func modern(schema map[string]any) map[string]any {
	if schema == nil {
		return nil
	}
	address, _ := cmp.Or(schema["$id"], schema["id"]).(string)
	address, _, _ = strings.Cut(address, "#")
	m := migration{address}
	made, _ := m.schema(schema).(map[string]any)
	if label, _ := schema["$schema"].(string); strings.Contains(label, "draft/2020-12/") {
		made["$schema"] = label
	}
	return made
}

// modernOutput is modern for an output schema; empty: there is none.
func modernOutput(output json.RawMessage) (json.RawMessage, error) {
	schema, err := jsonvalue.Decode(output)
	object, is := schema.(map[string]any)
	if err != nil || !is {
		return output, nil // whether it can be published is examined later
	}
	return jsonvalue.Encode(modern(object))
}

// migration rewrites the schemas of one document, which has an address of its own or "".
type migration struct{ address string }

// Keywords whose value is data, those whose members are schemas, and those whose value is a
// schema or a list of schemas. What stands below any other keyword is not a schema.
var (
	schemasByNames = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	innerSchemas   = []string{
		"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items",
		"not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
)

// schema returns a schema, or a list of schemas, as 2020-12 has it.
func (m migration) schema(value any) any {
	if list, is := value.([]any); is {
		made := make([]any, len(list))
		for i, each := range list {
			made[i] = m.schema(each)
		}
		return made
	}
	given, is := value.(map[string]any)
	if !is {
		return value // true, false, or no schema at all
	}
	made := make(map[string]any, len(given))
	for keyword, inner := range given {
		members, named := inner.(map[string]any)
		switch {
		case named && slices.Contains(schemasByNames, keyword):
			inner = m.members(members)
		case slices.Contains(innerSchemas, keyword):
			inner = m.schema(inner)
		}
		made[keyword] = inner
	}
	delete(made, "$schema")
	m.rewriteReferences(made)
	rewriteRequired(given, made)
	rewriteTuple(made)
	rewriteLimit(made, "exclusiveMinimum", "minimum")
	rewriteLimit(made, "exclusiveMaximum", "maximum")
	return made
}

// members returns schemas by their names.
func (m migration) members(given map[string]any) map[string]any {
	made := make(map[string]any, len(given))
	for name, each := range given {
		made[name] = m.schema(each)
	}
	return made
}

// rewriteReferences makes a schema's address within the document an anchor, and its reference
// one within the document. A number behind items is a place in a tuple.
func (m migration) rewriteReferences(schema map[string]any) {
	for _, keyword := range []string{"$id", "id"} {
		text, _ := schema[keyword].(string)
		if anchor, is := strings.CutPrefix(text, "#"); is && anchor != "" {
			schema["$anchor"] = anchor
			delete(schema, keyword)
		}
	}
	if reference, is := schema["$ref"].(string); is {
		schema["$ref"] = tupleItem().ReplaceAllString(strings.TrimPrefix(reference, m.address), "/prefixItems/$1")
	}
}

var tupleItem = pattern.Lazy(`/items/(\d+)`)

// rewriteRequired makes the list of required members of what each member says of itself, as
// draft 3 has it and people still write.
func rewriteRequired(given, made map[string]any) {
	if _, itself := made["required"].(bool); itself {
		delete(made, "required")
	}
	properties, _ := given["properties"].(map[string]any)
	required, _ := made["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		member, _ := properties[name].(map[string]any)
		if member["required"] == true && !slices.Contains(required, any(name)) {
			required = append(slices.Clone(required), name)
		}
	}
	if required != nil {
		made["required"] = required
	}
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

// rewriteLimit rewrites a limit that draft 4 excludes by a boolean beside it.
func rewriteLimit(schema map[string]any, exclusive, limit string) {
	excluded, is := schema[exclusive].(bool)
	if !is {
		return
	}
	delete(schema, exclusive)
	if value, has := schema[limit]; has && excluded {
		schema[exclusive] = value
		delete(schema, limit)
	}
}
