package engines

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/schemas"
)

// convert replaces texts that stand for another value: models send "2", "true" or
// "[1]" where a schema has no text. It changes values and what was sent, and reports
// whether it changed anything.
func (in *inputs) convert(values map[string]any, sent map[string]json.RawMessage) (changed bool, err error) {
	for name, value := range values {
		meant, differs := in.convertValue(memberOf([]map[string]any{in.root}, name), value, 0)
		if !differs {
			continue
		}
		if sent[name], err = jsonvalue.Encode(meant); err != nil {
			return changed, err
		}
		values[name], changed = meant, true
	}
	return changed, nil
}

// convertValue returns the value that was meant by one that was sent for a schema, and whether
// it is another.
func (in *inputs) convertValue(schema, value any, depth int) (meant any, differs bool) {
	forms := in.alternatives(schema, 0)
	if len(forms) == 0 || depth > maxConverted {
		return value, false
	}
	switch sent := value.(type) {
	case string:
		return in.meantByText(forms, sent, depth)
	case []any:
		var list []any
		for i, item := range sent {
			if inner, is := in.convertValue(itemsOf(forms), item, depth+1); is {
				if list == nil {
					list = slices.Clone(sent)
				}
				list[i] = inner
			}
		}
		return orElse(list != nil, list, value)
	case map[string]any:
		var object map[string]any
		for name, member := range sent {
			if inner, is := in.convertValue(memberOf(forms, name), member, depth+1); is {
				if object == nil {
					object = maps.Clone(sent)
				}
				object[name] = inner
			}
		}
		return orElse(object != nil, object, value)
	}
	return value, false
}

func orElse[T any](changed bool, made T, value any) (any, bool) {
	if changed {
		return made, true
	}
	return value, false
}

// maxConverted bounds the depth of values in which texts are converted.
const maxConverted = 16

// meantByText returns the value that a text stands for, if no alternative takes a text.
func (in *inputs) meantByText(forms []map[string]any, text string, depth int) (any, bool) {
	kinds := map[string]bool{}
	for _, form := range forms {
		for _, kind := range kindsOf(form) {
			kinds[kind] = true
		}
	}
	switch {
	case kinds["string"] || kinds[""]:
		return text, false
	case kinds["boolean"] && (text == "true" || text == "false"):
		return text == "true", true
	case kinds["integer"] && wholeNumber().MatchString(text), kinds["number"] && numeral().MatchString(text):
		value, err := jsonvalue.Decode(json.RawMessage(text))
		return value, err == nil
	case !kinds["object"] && !kinds["array"]:
		return text, false
	}
	inner := schemas.Normalise(text)
	if kind := jsonvalue.Kind(inner); !kinds[kind] || kind == "string" {
		return text, false
	}
	for _, form := range forms {
		if meant, differs := in.convertValue(form, inner, depth+1); differs {
			return meant, true
		}
	}
	return inner, true
}

// The texts of numbers are those of JSON.
var (
	wholeNumber = pattern.Lazy(`^-?(0|[1-9][0-9]*)$`)
	numeral     = pattern.Lazy(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// kindsOf returns the JSON types that a schema allows; "" stands for any.
func kindsOf(schema map[string]any) []string {
	switch types := schema["type"].(type) {
	case string:
		return []string{types}
	case []any:
		var kinds []string
		for _, each := range types {
			kind, _ := each.(string)
			kinds = append(kinds, kind)
		}
		return kinds
	}
	values, _ := schema["enum"].([]any)
	if constant, has := schema["const"]; has {
		values = append(values, constant)
	}
	if len(values) == 0 {
		return []string{""}
	}
	var kinds []string
	for _, each := range values {
		kinds = append(kinds, jsonvalue.Kind(each))
	}
	return kinds
}

// alternatives returns the schemas of which a value must fit one: what anyOf, oneOf, $ref
// and an allOf of one lead to.
func (in *inputs) alternatives(schema any, depth int) (forms []map[string]any) {
	object, _ := schema.(map[string]any)
	if object == nil || depth > maxConverted {
		return nil
	}
	if reference, is := object["$ref"].(string); is {
		return in.alternatives(Definition(in.root, reference), depth+1)
	}
	if parts, is := object["allOf"].([]any); is && len(parts) == 1 && object["type"] == nil {
		return in.alternatives(parts[0], depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, is := object[keyword].([]any); is && object["type"] == nil {
			for _, each := range list {
				forms = append(forms, in.alternatives(each, depth+1)...)
			}
			return forms
		}
	}
	return []map[string]any{object}
}

// Definition returns what a reference within a schema leads to, such as "#/$defs/name";
// nil if there is nothing.
func Definition(root map[string]any, reference string) any {
	var at any = root
	pointer, local := strings.CutPrefix(reference, "#/")
	if !local {
		return nil
	}
	for token := range strings.SplitSeq(pointer, "/") {
		inside, _ := at.(map[string]any)
		at = inside[strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")]
	}
	return at
}

// itemsOf returns the schema of the items of a list, where one alternative says so.
func itemsOf(forms []map[string]any) (items any) {
	for _, form := range forms {
		if form["items"] != nil {
			if items != nil {
				return nil
			}
			items = form["items"]
		}
	}
	return items
}

// memberOf returns the schema of a member of an object, where one alternative says so.
func memberOf(forms []map[string]any, name string) (member any) {
	for _, form := range forms {
		properties, _ := form["properties"].(map[string]any)
		found := properties[name]
		if found == nil {
			found = form["additionalProperties"]
		}
		if found != nil {
			if member != nil {
				return nil
			}
			member = found
		}
	}
	return member
}
