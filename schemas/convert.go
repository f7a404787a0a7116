package schemas

import (
	"encoding/json"
	"maps"
	"regexp"
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

// ConvertMember is Convert for a member of an object that has to fit the root.
func ConvertMember(root map[string]any, name string, value any) (meant any, differs bool) {
	c := converter{root}
	return c.convert(memberOf(c.alternatives(root), name), value, 0)
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
	switch value.(type) {
	case string, []any, map[string]any:
	default:
		return value, false
	}
	forms := c.alternatives(schema)
	if len(forms) == 0 || depth > maxConverted {
		return value, false
	}
	switch sent := value.(type) {
	case string:
		return c.convertText(forms, sent, depth)
	case []any:
		list := sent
		for i, item := range sent {
			inner, is := c.convert(itemOf(forms, i), item, depth+1)
			if is && !differs {
				list, differs = slices.Clone(sent), true
			}
			if is {
				list[i] = inner
			}
		}
		meant = list
	case map[string]any:
		object := sent
		forms = chosen(forms, sent)
		for name, member := range sent {
			inner, is := c.convert(memberOf(forms, name), member, depth+1)
			if is && !differs {
				object, differs = maps.Clone(sent), true
			}
			if is {
				object[name] = inner
			}
		}
		meant = object
	}
	if !differs {
		return value, false
	}
	return meant, true
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

// Bounds of the alternatives of a schema, and of the schemas that lead to others on the way:
// references may lead in circles.
const (
	maxForms   = 200
	maxVisited = 1000
)

// combining are the keywords that lead to further schemas for the same value.
var combining = []string{"$ref", "allOf", "anyOf", "oneOf"}

// alternatives returns the schemas of which a value must fit one: the schema with what $ref,
// each part of allOf and one of anyOf and oneOf add to it. It returns none where there are
// too many.
func (c converter) alternatives(schema any) []map[string]any {
	left := maxVisited
	if forms := c.visit(schema, 0, &left); left > 0 {
		return forms
	}
	return nil
}

func (c converter) visit(schema any, depth int, left *int) []map[string]any {
	object, _ := schema.(map[string]any)
	switch {
	case schema == true:
		return []map[string]any{{}}
	case object == nil, depth > maxConverted, *left <= 0:
		return nil
	case !slices.ContainsFunc(combining, func(keyword string) bool { return object[keyword] != nil }):
		return []map[string]any{object}
	}
	*left--
	own := maps.Clone(object)
	maps.DeleteFunc(own, func(keyword string, _ any) bool { return slices.Contains(combining, keyword) })
	forms := []map[string]any{own}
	if reference, is := object["$ref"].(string); is {
		forms = combine(forms, c.visit(Definition(c.root, reference), depth+1, left))
	}
	parts, _ := object["allOf"].([]any)
	for _, each := range parts {
		forms = combine(forms, c.visit(each, depth+1, left))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, is := object[keyword].([]any)
		if !is {
			continue
		}
		var either []map[string]any
		for _, each := range list {
			either = append(either, c.visit(each, depth+1, left)...)
		}
		forms = combine(forms, either)
	}
	return forms
}

// combine returns each schema with each of the others, as far as both say what a value is.
func combine(forms, others []map[string]any) (all []map[string]any) {
	if len(forms)*len(others) > maxForms {
		return nil
	}
	for _, form := range forms {
		for _, other := range others {
			both := maps.Clone(form)
			for keyword, said := range other {
				before, twice := form[keyword]
				members, isMap := before.(map[string]any)
				more, same := said.(map[string]any)
				switch {
				case !twice:
					both[keyword] = said
				case isMap && same && (keyword == "properties" || keyword == "patternProperties"):
					merged := maps.Clone(more)
					maps.Copy(merged, members)
					both[keyword] = merged
				}
			}
			all = append(all, both)
		}
	}
	return all
}

// chosen returns the alternatives that the members of an object leave, whose constants tell
// them apart; all where none is left.
func chosen(forms []map[string]any, object map[string]any) []map[string]any {
	if len(forms) == 1 {
		return forms
	}
	left := slices.DeleteFunc(slices.Clone(forms), func(form map[string]any) bool {
		properties, _ := form["properties"].(map[string]any)
		for name, member := range properties {
			described, _ := member.(map[string]any)
			constant, is := described["const"]
			sent, has := object[name]
			if is && has && jsonvalue.Kind(sent) == jsonvalue.Kind(constant) && string(jsonvalue.Encoded(sent)) != string(jsonvalue.Encoded(constant)) {
				return true
			}
		}
		return false
	})
	if len(left) == 0 {
		return forms
	}
	return left
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

// itemOf returns the schema of an item of a list.
func itemOf(forms []map[string]any, index int) any {
	var items []any
	for _, form := range forms {
		found := form["items"]
		prefix, _ := form["prefixItems"].([]any)
		if list, is := found.([]any); is { // of draft 7
			prefix, found = list, form["additionalItems"]
		}
		if index < len(prefix) {
			found = prefix[index]
		}
		items = append(items, found)
	}
	return either(items)
}

// memberOf returns the schema of a member of an object.
func memberOf(forms []map[string]any, name string) any {
	var members []any
	for _, form := range forms {
		properties, _ := form["properties"].(map[string]any)
		found, declared := properties[name]
		if !declared {
			found = patternOf(form, name)
		}
		members = append(members, found)
	}
	return either(members)
}

// patternOf returns the schema of a member that is not among the properties.
func patternOf(form map[string]any, name string) any {
	if patterns, is := form["patternProperties"].(map[string]any); is {
		for _, each := range slices.Sorted(maps.Keys(patterns)) {
			if matcher, err := regexp.Compile(each); err == nil && matcher.MatchString(name) {
				return patterns[each]
			}
		}
	}
	return form["additionalProperties"]
}

// either returns a schema for a value that has to fit one of those that are there.
func either(found []any) any {
	found = slices.DeleteFunc(found, func(schema any) bool { return schema == nil })
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	return map[string]any{"anyOf": found}
}
