package check

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/schemas"
)

// Bounds on reading one schema. Beyond them any value is accepted.
const (
	maxDepth      = 12
	maxSubschemas = 3000
)

// reader makes a type of a JSON Schema. The type holds every value that fits.
type reader struct {
	set *schemas.Set
	// unnamed is the openness for fields that the schema does not mention.
	unnamed openness
	origin  string
	// absent is how severe it is to read an optional field as if it were there.
	absent string
	read   int
}

// typeOf returns the type of a schema's values. root is the document of local
// references.
func (r *reader) typeOf(schema, root any, depth int) *Type {
	if r.read++; depth > maxDepth || r.read > maxSubschemas {
		return anything
	}
	written, ok := schema.(map[string]any)
	if !ok {
		return anything // true, false, or nothing to read
	}
	found := r.own(written, root, depth)
	if reference, ok := written["$ref"].(string); ok {
		if target, document, known := r.follow(reference, root); known {
			found = intersect(found, r.typeOf(target, document, depth+1))
		}
	}
	for _, each := range items(written["allOf"]) {
		found = intersect(found, r.typeOf(each, root, depth+1))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var choices []*Type
		for _, each := range items(written[keyword]) {
			choices = append(choices, r.typeOf(each, root, depth+1))
		}
		if len(choices) > 0 {
			found = intersect(found, join(choices...))
		}
	}
	if found.kinds&null != 0 && found.kinds&object != 0 && found.kinds != every {
		found = found.lacking(gap{why: "what has it may be null (" + r.origin + ")", severity: r.absent})
	}
	return found
}

// own reads the keywords of one schema, not of its subschemas.
func (r *reader) own(schema map[string]any, root any, depth int) *Type {
	made := &Type{kinds: kindsOf(schema["type"]), origin: r.origin}
	if constant, said := schema["const"]; said {
		made = intersect(made, literal(constant))
	}
	if values, ok := schema["enum"].([]any); ok && len(values) > 0 && len(values) <= maxValues {
		made.values = values
		var possible kinds
		for _, value := range values {
			possible |= kindOf(value)
		}
		made.kinds &= possible
	}
	if made.kinds&list != 0 {
		r.items(made, schema, root, depth)
	}
	if made.kinds&object != 0 {
		r.fields(made, schema, root, depth)
	}
	return made
}

func (r *reader) items(made *Type, schema map[string]any, root any, depth int) {
	first, others := items(schema["prefixItems"]), schema["items"]
	if written, ok := others.([]any); ok { // drafts before 2020-12
		first, others = written, schema["additionalItems"]
	}
	for _, each := range first {
		made.prefix = append(made.prefix, r.typeOf(each, root, depth+1))
	}
	switch each := others.(type) {
	case map[string]any:
		made.item = r.typeOf(each, root, depth+1)
	case bool:
		if !each {
			made.item = none
		}
	}
}

func (r *reader) fields(made *Type, schema map[string]any, root any, depth int) {
	properties, named := schema["properties"].(map[string]any)
	made.fields = make(map[string]*Type, len(properties))
	for name, each := range properties {
		made.fields[name] = r.typeOf(each, root, depth+1)
	}
	r.required(made, schema)
	byPattern, patterns := schema["patternProperties"].(map[string]any)
	additional, said := schema["additionalProperties"]
	switch {
	case patterns && additional == false:
		made.rest = none
		for _, name := range slices.Sorted(maps.Keys(byPattern)) {
			made.rest = joinTwo(made.rest, r.typeOf(byPattern[name], root, depth+1))
		}
	case patterns:
	case additional == false:
		made.openness = closed
	case said:
		made.rest = r.typeOf(additional, root, depth+1)
	case named && !isComposed(schema):
		made.openness = r.unnamed
	}
}

// required notes which named fields may be absent. A schema that requires some of them
// under conditions is not read so far.
func (r *reader) required(made *Type, schema map[string]any) {
	needed := map[string]bool{}
	for _, each := range items(schema["required"]) {
		name, isText := each.(string)
		if needed[name] = isText; isText && made.fields[name] == nil && schema["additionalProperties"] == nil {
			made.fields[name] = anything
		}
	}
	for _, keyword := range []string{"if", "not", "dependentRequired", "dependentSchemas", "dependencies"} {
		if _, has := schema[keyword]; has {
			return
		}
	}
	made.optional = map[string]gap{}
	for name := range made.fields {
		if !needed[name] {
			made.optional[name] = gap{why: r.origin, severity: r.absent}
		}
	}
}

// isComposed reports whether subschemas for the same value may name more fields.
func isComposed(schema map[string]any) bool {
	return slices.ContainsFunc([]string{"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}, func(keyword string) bool {
		_, has := schema[keyword]
		return has
	})
}

// kindsOf reads "type", a name or a list of names.
func kindsOf(written any) kinds {
	var found kinds
	switch v := written.(type) {
	case string:
		found = kindNamed[v]
	case []any:
		for _, each := range v {
			name, _ := each.(string)
			found |= kindNamed[name]
		}
	}
	if found == 0 {
		return every
	}
	return found
}

var kindNamed = map[string]kinds{"null": null, "boolean": boolean, "integer": integer, "number": number, "string": text, "array": list, "object": object}

// follow returns what a reference leads to: a schema of the set, or a place in a
// document.
func (r *reader) follow(reference string, root any) (target, document any, known bool) {
	name, fragment, _ := strings.Cut(reference, "#")
	if document = root; name != "" {
		plain, err := url.PathUnescape(name)
		if err != nil || r.set == nil {
			return nil, nil, false
		}
		if document, known = r.set.Source(plain); !known {
			if document, known = r.set.Source(strings.TrimSuffix(plain, ".json")); !known {
				return nil, nil, false
			}
		}
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil || fragment != "" && fragment[0] != '/' {
		return nil, nil, false
	}
	target = document
	for token := range jsonvalue.Tokens(fragment) {
		if token == "" {
			continue
		}
		at, _ := target.(map[string]any)
		if target, known = at[token]; !known {
			return nil, nil, false
		}
	}
	return target, document, true
}

func items(value any) []any {
	list, _ := value.([]any)
	return list
}
