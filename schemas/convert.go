package schemas

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// Convert returns the value that was meant by one that was sent for a schema, and whether it
// is another: models send "2", "true" or "[1]" where a schema has no text. Local
// references begin at root.
func Convert(root map[string]any, schema, value any) (meant any, differs bool) {
	return converter{root}.convert(schema, value, 0)
}

// ConvertBy is Convert for a schema as it is written; one that is none means nothing else.
func ConvertBy(written []byte, value any) (meant any, differs bool) {
	schema, _ := jsonvalue.DecodeStored(written)
	root, _ := schema.(map[string]any)
	return Convert(root, schema, value)
}

// converter has the document of local references.
type converter struct{ root map[string]any }

func (c converter) convert(schema, value any, depth int) (meant any, differs bool) {
	forms := c.alternatives(schema, 0)
	if len(forms) == 0 || depth > maxConverted {
		return value, false
	}
	switch sent := value.(type) {
	case string:
		return c.convertText(forms, sent, depth)
	case []any:
		var list []any
		for i, item := range sent {
			if inner, is := c.convert(itemOf(forms, i), item, depth+1); is {
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
			if inner, is := c.convert(memberOf(forms, name), member, depth+1); is {
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

// convertText returns the value that a text stands for, if no alternative takes a text.
func (c converter) convertText(forms []map[string]any, text string, depth int) (any, bool) {
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
	inner := Normalise(text)
	if kind := jsonvalue.Kind(inner); !kinds[kind] || kind == "string" {
		return text, false
	}
	for _, form := range forms {
		if meant, differs := c.convert(form, inner, depth+1); differs {
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
func (c converter) alternatives(schema any, depth int) (forms []map[string]any) {
	object, _ := schema.(map[string]any)
	if object == nil || depth > maxConverted {
		return nil
	}
	if reference, is := object["$ref"].(string); is {
		return c.alternatives(Definition(c.root, reference), depth+1)
	}
	if parts, is := object["allOf"].([]any); is && len(parts) == 1 && object["type"] == nil {
		return c.alternatives(parts[0], depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, is := object[keyword].([]any); is && object["type"] == nil {
			for _, each := range list {
				forms = append(forms, c.alternatives(each, depth+1)...)
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
	pointer, local := strings.CutPrefix(reference, "#")
	if !local || pointer == "" || pointer[0] != '/' {
		return nil
	}
	for token := range jsonvalue.Tokens(pointer) {
		inside, _ := at.(map[string]any)
		at = inside[token]
	}
	return at
}

// itemOf returns the schema of an item of a list, where one alternative says so.
func itemOf(forms []map[string]any, index int) (item any) {
	for _, form := range forms {
		found := form["items"]
		prefix, _ := form["prefixItems"].([]any)
		if list, is := found.([]any); is { // of draft 7
			prefix, found = list, form["additionalItems"]
		}
		if index < len(prefix) {
			found = prefix[index]
		}
		if found != nil {
			if item != nil {
				return nil
			}
			item = found
		}
	}
	return item
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
