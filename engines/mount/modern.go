package mount

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// modern returns a schema as JSON Schema 2020-12 has it, which MCP takes for a schema without
// a label. Clients refuse a tool with the label of an older draft, and read the keywords that
// older drafts use differently in their own way; both are taken off, wherever they stand. The
// sources are the "migration from" sections of the drafts' release notes.
func modern(schema map[string]any) map[string]any {
	if schema == nil {
		return nil
	}
	m := migration{root: schema, address: addressOf(schema)}
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

// migration rewrites the schemas of one document.
type migration struct {
	root map[string]any
	// address is the document's own, without a fragment; nil: it has none.
	address *url.URL
}

// addressOf returns the address that a document gives itself; nil if none.
func addressOf(document map[string]any) *url.URL {
	for _, keyword := range []string{"$id", "id"} {
		if text, is := document[keyword].(string); is {
			if address, err := url.Parse(text); err == nil {
				address.Fragment = ""
				return address
			}
		}
	}
	return nil
}

// Keywords whose value is data, those whose members are schemas, and those whose value is a
// schema or a list of schemas. What stands below any other keyword is not a schema.
var (
	schemasByNames = []string{"properties", "patternProperties", "$defs", "definitions", "dependencies", "dependentSchemas"}
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
	m.rewriteNames(made)
	m.rewriteReferences(made)
	rewriteRequired(given, made)
	rewriteTuple(made)
	rewriteDependencies(made)
	rewriteLimit(made, "exclusiveMinimum", "minimum")
	rewriteLimit(made, "exclusiveMaximum", "maximum")
	return made
}

// members returns schemas by their names.
func (m migration) members(given map[string]any) map[string]any {
	made := make(map[string]any, len(given))
	for name, each := range given {
		if names, is := each.([]any); is {
			made[name] = names // dependencies on names
		} else {
			made[name] = m.schema(each)
		}
	}
	return made
}

// rewriteNames renames a schema's own address and its definitions.
func (m migration) rewriteNames(schema map[string]any) {
	for _, keyword := range []string{"$id", "id"} {
		text, _ := schema[keyword].(string)
		if anchor, is := strings.CutPrefix(text, "#"); is && anchor != "" {
			schema["$anchor"] = anchor
			delete(schema, keyword)
		}
	}
	if definitions, is := schema["definitions"].(map[string]any); is && !meet(definitions, schema["$defs"]) {
		kept, _ := schema["$defs"].(map[string]any)
		made := maps.Clone(definitions)
		maps.Copy(made, kept)
		schema["$defs"] = made
		delete(schema, "definitions")
	}
}

// meet reports whether one name stands for two definitions.
func meet(definitions map[string]any, kept any) bool {
	others, _ := kept.(map[string]any)
	for name, each := range definitions {
		if other, has := others[name]; has && !reflect.DeepEqual(each, other) {
			return true
		}
	}
	return false
}

// rewriteReferences makes a schema's reference one within the document.
func (m migration) rewriteReferences(schema map[string]any) {
	if recursive, is := schema["$recursiveRef"].(string); is && schema["$ref"] == nil {
		schema["$ref"] = recursive
	}
	delete(schema, "$recursiveRef")
	delete(schema, "$recursiveAnchor")
	if reference, is := schema["$ref"].(string); is {
		schema["$ref"] = m.reference(reference)
	}
}

// reference returns a reference with the place that its definition has after the rewriting.
func (m migration) reference(given string) string {
	target, err := url.Parse(given)
	if err != nil {
		return given
	}
	own := *target
	own.Fragment, own.RawFragment = "", ""
	if m.address != nil && own.String() != "" && m.address.ResolveReference(&own).String() == m.address.String() {
		own = url.URL{}
	}
	pointer, is := strings.CutPrefix(target.Fragment, "/")
	if own.String() != "" || !is {
		return own.String() + strings.TrimPrefix(given, strings.SplitN(given, "#", 2)[0])
	}
	return "#/" + (&url.URL{Fragment: m.pointer(pointer)}).EscapedFragment()
}

// pointer returns the place that a part of the document has after the rewriting.
func (m migration) pointer(given string) string {
	tokens := strings.Split(given, "/")
	var at any = m.root
	named := false // at holds schemas by their names
	for i, token := range tokens {
		schema, _ := at.(map[string]any)
		if list, is := at.([]any); is {
			at = item(list, token)
			continue
		}
		at = schema[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		if named {
			named = false
			continue
		}
		named = slices.Contains(schemasByNames, token)
		tokens[i] = renamed(schema, token)
	}
	return strings.Join(tokens, "/")
}

// renamed returns the keyword that takes the place of one in a schema as it was given.
func renamed(schema map[string]any, keyword string) string {
	_, tuple := schema["items"].([]any)
	definitions, _ := schema["definitions"].(map[string]any)
	switch {
	case keyword == "definitions" && !meet(definitions, schema["$defs"]):
		return "$defs"
	case keyword == "items" && tuple:
		return "prefixItems"
	case keyword == "additionalItems" && tuple:
		return "items"
	case keyword == "dependencies":
		return "dependentSchemas"
	}
	return keyword
}

// item returns an item of a list by its index in a pointer; nil if there is none.
func item(list []any, token string) any {
	for i, each := range list {
		if token == strconv.Itoa(i) {
			return each
		}
	}
	return nil
}

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
