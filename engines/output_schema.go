package engines

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// OutputSchema is a tool's output schema as published. Clients validate structured
// content against it. The public TypeScript client also validates errors, and hides an
// error that does not fit the schema. So the published schema accepts errors and
// results, both with a receipt, as far as JSON Schema can express that.
type OutputSchema struct {
	// Published is the schema; empty if the tool has no output schema.
	Published json.RawMessage
	// Receipts: a result may have a receipt as a member. Faults: a fault object is
	// accepted instead of a result.
	Receipts, Faults bool
}

// PublishedOutput returns the published form of the tool's output schema. It merges the
// root with what errors and receipts need; if it cannot, it offers the schema and a
// fault object as alternatives; if that is impossible too, it returns the schema
// unchanged. Of Savant's own tools, which a model reads with each request, it has the
// types of the members alone.
func (t Tool) PublishedOutput() OutputSchema {
	output := t.Output
	if t.exact() {
		output = shallowOutput(t.gives)
	}
	if len(output) == 0 || t.exact() {
		return OutputSchema{Published: output, Receipts: true, Faults: true}
	}
	if merged, ok := mergedOutput(output); ok {
		return OutputSchema{Published: merged, Receipts: true, Faults: true}
	}
	if either, ok := eitherOutput(output); ok {
		return OutputSchema{Published: either, Faults: true}
	}
	return OutputSchema{Published: output}
}

// OutputCheck returns the function that validates results against the tool's output
// schema with VALIDATION_FAILED; nil without a schema. The schema is compiled once, on
// first use. A result that would take too long to validate is accepted.
func (t Tool) OutputCheck() func(result json.RawMessage) error {
	if len(t.OutputSchema()) == 0 {
		return nil
	}
	schema := sync.OnceValues(t.compileOutput)
	return func(result json.RawMessage) error {
		compiled, err := schema()
		if err != nil {
			return err
		}
		value, err := jsonvalue.Decode(result)
		if err != nil {
			return fault.New(fault.ValidationFailed, "the result: %w", err)
		}
		if err = compiled.Check(value); errors.Is(err, fault.LimitExceeded) {
			return nil
		}
		return err
	}
}

// Fits validates a value against the output schema of one of Savant's tools:
// VALIDATION_FAILED. It returns nil for an unknown name, for a tool without an output
// schema, and for mounted tools, whose schemas are unverified claims.
func (r *Registry) Fits(name string, value any) error {
	found, ok := r.find(name)
	if !ok || found.tool.takes == nil {
		return nil
	}
	schema, err := found.result.get(found.tool.compileOutput)
	if err != nil || schema == nil {
		return err
	}
	if err = schema.Check(value); errors.Is(err, fault.LimitExceeded) {
		return nil
	}
	return err
}

// compileOutput returns the compiled output schema; nil without one.
func (t Tool) compileOutput() (*schemas.Schema, error) {
	output := t.OutputSchema()
	if len(output) == 0 {
		return nil, nil
	}
	what := t.Name + ": output"
	root, err := objectOf(what, output)
	if err != nil {
		return nil, err
	}
	return compile(what, root)
}

// ReceiptKey is the member of a reply that holds the receipt's id, which think.next
// accepts as result_ref.
const ReceiptKey = schemas.ReceiptMember

// WarningKey is the member of a reply that says what Savant left out of the call. A
// published schema need not name it: it allows further members.
const WarningKey = schemas.WarningMember

// extraMembers are the members that a published schema accepts beside the tool's own: a
// receipt, and those of a fault object.
var extraMembers = map[string]json.RawMessage{
	ReceiptKey:    json.RawMessage(`{"type":"string"}`),
	"error":       json.RawMessage(`{"type":"string"}`),
	"details":     json.RawMessage(`{"type":"string"}`),
	"diagnostics": json.RawMessage(`{"type":"array"}`),
}

// faultRequires is the alternative to the required members of a result.
const faultRequires = `{"required":["error","details"]}`

// restrictingKeywords are the JSON Schema keywords that can make a root refuse or
// demand members whatever its properties say.
var restrictingKeywords = []string{"patternProperties", "propertyNames", "maxProperties", "minProperties", "unevaluatedProperties",
	"dependentSchemas", "dependentRequired", "dependencies", "enum", "const", "$ref", "$dynamicRef", "allOf", "oneOf", "not", "if"}

// mergedOutput returns a schema whose properties stay at the root, where clients look
// for them: the required members become one of two alternatives, and additional members
// are allowed. It returns false if the root has further restrictions.
func mergedOutput(output json.RawMessage) (json.RawMessage, bool) {
	var root, properties map[string]json.RawMessage
	if json.Unmarshal(output, &root) != nil {
		return output, false
	}
	if slices.ContainsFunc(restrictingKeywords, func(keyword string) bool { return root[keyword] != nil }) {
		return output, false
	}
	if given := root["properties"]; given != nil && json.Unmarshal(given, &properties) != nil {
		return output, false
	}
	members := withExtraMembers(properties)
	if members == nil || !addFaultAlternative(root) {
		return output, false
	}
	delete(root, "additionalProperties")
	var err error
	if root["properties"], err = json.Marshal(members); err != nil {
		return output, false
	}
	merged, err := json.Marshal(root)
	return merged, err == nil
}

// shallowOutput returns the published schema of a type: its members have their types alone,
// and those of receipts and errors, which it allows, go without saying.
func shallowOutput(t reflect.Type) json.RawMessage {
	made := shapeOf(t, enclosing{shallow: true})
	slices.SortFunc(*made.Properties, func(a, b jsonvalue.Pair) int { return cmp.Compare(a.Name, b.Name) })
	root := map[string]any{"type": "object", "properties": made.Properties}
	if len(made.Required) > 0 {
		root["anyOf"] = []any{map[string]any{"required": made.Required}, json.RawMessage(faultRequires)}
	}
	return jsonvalue.Encoded(root)
}

// withExtraMembers returns properties with the extra ones; nil if one of these names is
// used for something else. An identical member is accepted: the tool may belong to a
// mounted Savant.
func withExtraMembers(properties map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(extraMembers)
	for name, schema := range properties {
		if wanted := extraMembers[name]; wanted != nil && !SameJSON(schema, wanted) {
			return nil
		}
		all[name] = schema
	}
	return all
}

// addFaultAlternative makes the required members of a root one of two alternatives. It
// returns false if the root already has alternatives.
func addFaultAlternative(root map[string]json.RawMessage) bool {
	if given := root["anyOf"]; given != nil {
		var alternatives []json.RawMessage
		return json.Unmarshal(given, &alternatives) == nil && len(alternatives) == 2 && SameJSON(alternatives[1], []byte(faultRequires))
	}
	if needs := root["required"]; needs != nil {
		root["anyOf"] = json.RawMessage(`[{"required":` + string(needs) + `},` + faultRequires + `]`)
		delete(root, "required")
	}
	return true
}

// SameJSON compares two JSON texts, ignoring white space between tokens.
func SameJSON(one, other []byte) bool {
	var a, b bytes.Buffer
	return bytes.Equal(one, other) || json.Compact(&a, one) == nil && json.Compact(&b, other) == nil && bytes.Equal(a.Bytes(), b.Bytes())
}
