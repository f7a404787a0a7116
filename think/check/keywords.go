package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// The keywords of JSON Schema, drafts 7 to 2020-12, by what they hold.
var (
	holdsSchema  = []string{"not", "if", "then", "else", "items", "additionalItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"}
	holdsSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	holdsNamed   = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
	holdsOther   = []string{"$schema", "$id", "$ref", "$anchor", "$comment", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary",
		"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
		"maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required", "dependentRequired",
		"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding", "contentMediaType"}
	keywords = slices.Concat(holdsSchema, holdsSchemas, holdsNamed, holdsOther)
)

// foreign are keywords of other schema languages, which have no effect here, with what
// to write instead.
var foreign = map[string]string{
	"nullable": "write type: [string, null]", "optional": "leave the name out of required", "choices": "write enum", "values": "write enum", "options": "write enum",
	"min": "write minimum, minLength or minItems", "max": "write maximum, maxLength or maxItems", "regex": "write pattern", "fields": "write properties",
	"desc": "write description", "example": "write examples, a list",
}

// Misnamed is a keyword without a meaning, or a schema that no value fits.
type Misnamed struct {
	// Pointer leads to it, RFC 6901; Tokens are its parts.
	Pointer string
	Tokens  []string
	Message string
	// Certain says that another keyword was meant.
	Certain bool
}

// Keywords finds keywords of a JSON Schema that mean nothing, and contradictions that
// no value can satisfy. Validators ignore both silently.
func Keywords(schema any) []Misnamed {
	var found []Misnamed
	keywordsOf(schema, nil, 0, &found)
	return found
}

func keywordsOf(schema any, at []string, depth int, found *[]Misnamed) {
	written, ok := schema.(map[string]any)
	if !ok || depth > 40 || len(*found) >= 20 {
		return
	}
	if name, never := neverAllowed(written); never {
		below := append(slices.Clone(at), "required")
		*found = append(*found, Misnamed{Pointer: pointerTo(below), Tokens: below, Certain: true,
			Message: fmt.Sprintf("no value can fit: %q is required, and additionalProperties: false forbids it; name it in properties", fault.Cut(name, 60))})
	}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		value, below := written[key], append(slices.Clone(at), key)
		if !slices.Contains(keywords, key) {
			if wrong, said := misnamed(key, below); said {
				*found = append(*found, wrong)
			}
			continue
		}
		if slices.Contains(holdsSchema, key) {
			keywordsOf(value, below, depth+1, found)
		}
		if slices.Contains(holdsSchemas, key) {
			for i, each := range items(value) {
				keywordsOf(each, append(slices.Clone(below), strconv.Itoa(i)), depth+1, found)
			}
		}
		if named, ok := value.(map[string]any); ok && slices.Contains(holdsNamed, key) {
			for _, name := range slices.Sorted(maps.Keys(named)) {
				keywordsOf(named[name], append(slices.Clone(below), name), depth+1, found)
			}
		}
	}
}

// neverAllowed returns a required property that the same object forbids.
func neverAllowed(schema map[string]any) (name string, never bool) {
	if schema["type"] != "object" || schema["additionalProperties"] != false || schema["patternProperties"] != nil {
		return "", false
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, each := range items(schema["required"]) {
		if name, isText := each.(string); isText {
			if _, listed := properties[name]; !listed {
				return name, true
			}
		}
	}
	return "", false
}

// pointerTo writes a JSON pointer (RFC 6901).
func pointerTo(tokens []string) string {
	var pointer strings.Builder
	for _, token := range tokens {
		pointer.WriteString(jsonvalue.Token(token))
	}
	return pointer.String()
}

func misnamed(key string, at []string) (Misnamed, bool) {
	if strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "$") {
		return Misnamed{}, false // annotations of others
	}
	wrong := Misnamed{Pointer: pointerTo(at), Tokens: at, Message: fmt.Sprintf("%q is not a keyword of JSON Schema and has no effect", fault.Cut(key, 60))}
	nearest := fault.Nearest(key, keywords)
	switch fix := foreign[key]; {
	case fix != "":
		wrong.Message += ": " + fix
	case nearest != "":
		wrong.Message, wrong.Certain = wrong.Message+": did you mean "+strconv.Quote(nearest)+"?", true
	}
	return wrong, true
}

// keywordsOfWorkflow checks the schemas that are written in the file.
func (c *checker) keywordsOfWorkflow() {
	for _, param := range c.w.Params {
		c.keywordsAt(param.Schema, "params."+param.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.w.Schemas)) {
		c.keywordsAt(c.w.Schemas[name], "schemas."+name)
	}
	for _, step := range c.w.Steps {
		if step.Schema != nil && step.Schema.Name() == "" {
			c.keywordsAt(step.Schema.JSON(), step.Path()+".success_schema")
		}
		if step.Answering() == flow.FillsIn {
			if schema, ok := plainValue(member(step.Template(), "schema")); ok {
				c.keywordsAt(schema, step.Path()+".input_template.schema")
			}
		}
	}
}

func (c *checker) keywordsAt(schema any, path string) {
	for _, wrong := range Keywords(schema) {
		at := path
		for i, token := range wrong.Tokens {
			if _, err := strconv.Atoi(token); err == nil && i > 0 && slices.Contains(holdsSchemas, wrong.Tokens[i-1]) {
				at += "[" + token + "]"
			} else {
				at += "." + token
			}
		}
		severity := warning
		if wrong.Certain {
			severity = ""
		}
		c.at(fault.YAMLSchemaViolation, severity, at, "%s", wrong.Message)
	}
}
