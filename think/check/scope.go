package check

import (
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// Scope are the types of what the expressions of a workflow read.
type Scope struct{ Params, Captures map[string]*Type }

// ScopeOf returns the types of a workflow's parameters and captures.
func ScopeOf(graph *flow.Graph, tools Tools) Scope {
	c := newChecker(graph, tools)
	for name := range c.by {
		c.capture(name)
	}
	return Scope{c.params, c.captures}
}

// Fields returns the names of the fields that a value of the type is known to have.
func (t *Type) Fields() []string { return slices.Sorted(maps.Keys(t.fields)) }

// Field returns the type of a field, Any where it is not known.
func (t *Type) Field(name string) *Type { return known(t.fields, name) }

// Item returns the type of the items of a list, Any where it is not known.
func (t *Type) Item() *Type {
	if t.item == nil {
		return anything
	}
	return t.item
}

// maxDescribed bounds the fields that a description names.
const maxDescribed = 12

// String describes the type in words: "an object with path, line?", "a list of a string".
// A name with ? may be absent.
func (t *Type) String() string {
	said := t.kinds.String()
	switch {
	case t.kinds == list && t.item != nil:
		return said + " of " + t.item.String()
	case t.kinds&object != 0 && len(t.fields) > 0:
		fields := t.Fields()
		for i, each := range fields {
			if _, may := t.optional[each]; may {
				fields[i] += "?"
			}
		}
		if len(fields) > maxDescribed {
			fields = append(fields[:maxDescribed], "…")
		}
		return said + " with " + strings.Join(fields, ", ")
	case len(t.values) > 0 && len(t.values) <= maxDescribed:
		written := make([]string, len(t.values))
		for i, each := range t.values {
			text, _ := jsonvalue.Encode(each) // a value of JSON
			written[i] = string(text)
		}
		return said + ", " + strings.Join(written, " or ")
	}
	return said
}
