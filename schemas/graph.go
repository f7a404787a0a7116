package schemas

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
)

// Bounds of one schema and its references. Compilation is quadratic in the number of
// subschemas.
const (
	maxBytes      = 512 << 10
	maxSubschemas = 4000
)

// node is one subschema, with the subschemas it applies.
type node struct {
	// weight is the cost of checking one value, without the subschemas.
	weight int
	// same apply to the same value, below to values inside it.
	same  []*node
	below []edge
}

// edge leads to a subschema that applies to properties or items of the value: to
// one of them if only is set, else to all.
type edge struct {
	to    *node
	items bool // of an array; else properties of an object
	name  string
	only  bool // just the property or item called name
}

// graph walks a schema and its references. It reports unsupported keywords, makes every
// reference absolute, and records which subschemas apply where.
type graph struct {
	set         *Set
	documents   map[string]any // by address, references rewritten
	nodes       map[string]*node
	diagnostics []fault.Diagnostic
}

// The keywords with subschemas, of all three drafts.
var (
	sameOne   = []string{"not", "if", "then", "else"}
	sameList  = []string{"allOf", "anyOf", "oneOf"}
	sameMap   = []string{"dependentSchemas", "dependencies"}
	itemOne   = []string{"items", "additionalItems", "contains", "unevaluatedItems"}
	itemList  = []string{"prefixItems", "items"}
	fieldOne  = []string{"additionalProperties", "unevaluatedProperties", "propertyNames"}
	unjudged  = []string{"$defs", "definitions"}
	forbidden = []string{"$dynamicRef", "$recursiveRef"}
)

// walk returns the node of a subschema. It visits each subschema once.
func (g *graph) walk(at pointed, value any) *node {
	key := at.address + "#" + at.pointer
	if known := g.nodes[key]; known != nil {
		return known
	}
	made := &node{weight: 1}
	g.nodes[key] = made
	switch {
	case len(g.nodes) == maxSubschemas:
		g.wrong(at, fmt.Sprintf("the schema, with what it refers to, has more than %d subschemas", maxSubschemas))
	case len(g.nodes) > maxSubschemas:
	default:
		g.walkValue(made, at, value)
	}
	return made
}

func (g *graph) walkValue(made *node, at pointed, value any) {
	switch schema := value.(type) {
	case bool:
	case map[string]any:
		g.restrict(at, schema)
		if choices, ok := schema["enum"].([]any); ok {
			made.weight += len(choices)
		}
		if reference, ok := schema["$ref"].(string); ok {
			g.refer(made, at, schema, reference)
		}
		g.walkSame(made, at, schema)
		g.walkItems(made, at, schema)
		g.walkFields(made, at, schema)
		for _, keyword := range unjudged {
			for name, sub := range sorted(fields(schema[keyword])) {
				g.walk(at.child(keyword, name), sub)
			}
		}
	default:
		g.wrong(at, "expected a schema: an object or a boolean")
	}
}

func (g *graph) walkSame(made *node, at pointed, schema map[string]any) {
	for _, keyword := range sameOne {
		if sub, has := schema[keyword]; has {
			made.same = append(made.same, g.walk(at.child(keyword), sub))
		}
	}
	for _, keyword := range sameList {
		list, _ := schema[keyword].([]any)
		for i, sub := range list {
			made.same = append(made.same, g.walk(at.child(keyword, strconv.Itoa(i)), sub))
		}
	}
	for _, keyword := range sameMap {
		for name, sub := range sorted(fields(schema[keyword])) {
			if _, names := sub.([]any); !names { // draft 7: names of properties
				made.same = append(made.same, g.walk(at.child(keyword, name), sub))
			}
		}
	}
}

func (g *graph) walkItems(made *node, at pointed, schema map[string]any) {
	for _, keyword := range itemOne {
		sub, has := schema[keyword]
		if _, list := sub.([]any); has && !list {
			made.below = append(made.below, edge{to: g.walk(at.child(keyword), sub), items: true})
		}
	}
	for _, keyword := range itemList {
		list, _ := schema[keyword].([]any)
		for i, sub := range list {
			made.below = append(made.below, edge{to: g.walk(at.child(keyword, strconv.Itoa(i)), sub), items: true,
				name: strconv.Itoa(i), only: true})
		}
	}
}

func (g *graph) walkFields(made *node, at pointed, schema map[string]any) {
	for name, sub := range sorted(fields(schema["properties"])) {
		made.below = append(made.below, edge{to: g.walk(at.child("properties", name), sub), name: name, only: true})
	}
	for pattern, sub := range sorted(fields(schema["patternProperties"])) {
		g.pattern(at.child("patternProperties", pattern), pattern)
		made.below = append(made.below, edge{to: g.walk(at.child("patternProperties", pattern), sub)})
	}
	for _, keyword := range fieldOne {
		if sub, has := schema[keyword]; has {
			made.below = append(made.below, edge{to: g.walk(at.child(keyword), sub)})
		}
	}
}

// restrict reports unsupported keywords. It removes the "$id" of a document, because
// other documents refer to it by name, and "contentSchema", which the library applies
// in draft 7 although it is an annotation.
func (g *graph) restrict(at pointed, schema map[string]any) {
	if _, has := schema["$id"]; has && at.pointer != "" {
		g.wrong(at.child("$id"), "$id inside a schema is not supported; name the schema and use $ref")
	}
	delete(schema, "$id")
	delete(schema, "contentSchema")
	for _, keyword := range forbidden {
		if _, has := schema[keyword]; has {
			g.wrong(at.child(keyword), keyword+" is not supported; use $ref")
		}
	}
	if pattern, ok := schema["pattern"].(string); ok {
		g.pattern(at.child("pattern"), pattern)
	}
	g.draft(at, schema)
}

func (g *graph) draft(at pointed, schema map[string]any) {
	name, has := schema["$schema"]
	if !has || at.pointer != "" {
		return
	}
	if text, _ := name.(string); !isDraft(text) {
		g.wrong(at.child("$schema"), "expected one of "+strings.Join(drafts, ", "))
	}
}

func (g *graph) pattern(at pointed, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		g.wrong(at, strings.TrimPrefix(err.Error(), "error parsing regexp: ")+" (patterns are RE2)")
	}
}

func (g *graph) wrong(at pointed, message string) {
	g.diagnostics = append(g.diagnostics, g.diagnostic(at, message))
}

// diagnostic points into a schema, and names the schema unless it is inline.
func (g *graph) diagnostic(at pointed, message string) fault.Diagnostic {
	return g.set.withFile(nameOf(at.address), fault.Diagnostic{Pointer: at.pointer, Message: message})
}

// fields returns a JSON object, or nothing.
func fields(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// sorted yields an object's members by name, so that diagnostics have a stable order.
func sorted(object map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !yield(name, object[name]) {
				return
			}
		}
	}
}

// shorten returns a value's JSON, short enough for a line of a message.
func shorten(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return fault.Cut(string(data), 120)
}
