package lsp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant"
)

// schema is a JSON Schema of the files that people write, as far as it leads an author.
type schema struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Others      json.RawMessage    `json:"additionalProperties"`
	Enum        []any              `json:"enum"`
	Const       any                `json:"const"`
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
	Defs        map[string]*schema `json:"$defs"`
}

// schemaOf reads the schema of a kind of file, nil for none.
func schemaOf(k kind) *schema {
	text, err := savant.Files.ReadFile("schemas/" + k.schema() + ".json")
	if err != nil {
		return nil
	}
	return parsedSchema(text)
}

// parsedSchema reads the schema of a tool's arguments, nil for none.
func parsedSchema(text json.RawMessage) *schema {
	var read schema
	if json.Unmarshal(text, &read) != nil {
		return nil
	}
	return &read
}

// maxAlternatives bounds how deep alternatives and references are followed.
const maxAlternatives = 8

// alternatives are a schema and what it refers to and may be instead.
func (s *schema) alternatives(root *schema, depth int) (all []*schema) {
	if s == nil || depth > maxAlternatives {
		return nil
	}
	all = append(all, s)
	if name, local := strings.CutPrefix(s.Ref, "#/$defs/"); local {
		all = append(all, root.Defs[name].alternatives(root, depth+1)...)
	}
	for _, each := range slices.Concat(s.AnyOf, s.OneOf) {
		all = append(all, each.alternatives(root, depth+1)...)
	}
	return all
}

// schemasAt returns the schemas of the value at a path.
func (s *schema) schemasAt(path []string) []*schema {
	here := s.alternatives(s, 0)
	for _, key := range path {
		var next []*schema
		for _, each := range here {
			child := each.Properties[key]
			switch {
			case key == item:
				child = each.Items
			case child == nil && len(each.Others) > 0 && each.Others[0] == '{':
				child = parsedSchema(each.Others)
			}
			next = append(next, child.alternatives(s, 0)...)
		}
		here = next
	}
	return here
}

// keys returns the keys of a mapping with these schemas, and what they mean.
func keys(here []*schema) map[string]string {
	all := map[string]string{}
	for _, each := range here {
		for name, property := range each.Properties {
			all[name] = cmp.Or(all[name], property.Description)
		}
	}
	return all
}

// values returns the values that a schema lists, as YAML has them.
func values(here []*schema) (all []string) {
	for _, each := range here {
		for _, value := range append(slices.Clone(each.Enum), each.Const) {
			if text, is := value.(string); is {
				all = append(all, text)
			}
		}
		if each.Type == "boolean" {
			all = append(all, "true", "false")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// expressed reports whether a value is an expression.
func expressed(here []*schema) bool {
	return slices.ContainsFunc(here, func(each *schema) bool { return each.Ref == "#/$defs/expression" || each.Ref == "#/$defs/condition" })
}

// sorted are the names of a map in order.
func sorted[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }
