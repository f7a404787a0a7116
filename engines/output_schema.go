package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// OutputSchema is the schema of a tool's results as it is published. Clients
// validate structured content against the schema they were shown; the public
// TypeScript client validates errors too, and then shows no more of an error
// than that it does not fit. So the published schema accepts errors as well as
// results, and either with a receipt, as far as that can be expressed.
type OutputSchema struct {
	// Published is the schema, or empty where the tool has none.
	Published json.RawMessage
	// Receipts says that results may have a receipt among their members, Faults
	// that a fault object fits in place of a result.
	Receipts, Faults bool
}

// PublishedOutput returns the published form of a tool's output schema. Where
// its root can be merged with what errors and receipts need, it is; else the
// schema becomes one of two alternatives, a fault object being the other; else
// it stays as it is.
func PublishedOutput(output json.RawMessage) OutputSchema {
	if len(output) == 0 {
		return OutputSchema{Receipts: true, Faults: true}
	}
	if merged, ok := mergedOutput(output); ok {
		return OutputSchema{Published: merged, Receipts: true, Faults: true}
	}
	if either, ok := eitherOutput(output); ok {
		return OutputSchema{Published: either, Faults: true}
	}
	return OutputSchema{Published: output}
}

// OutputCheck returns the function that validates results against the tool's
// output schema: VALIDATION_FAILED says what does not fit. It is nil where there
// is no schema. The schema is compiled once, when it is first needed. A result
// that would take too long to validate is accepted.
func (t Tool) OutputCheck() func(result json.RawMessage) error {
	if len(t.Output) == 0 {
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

// Fits holds a value against the output schema of a tool of Savant's own:
// VALIDATION_FAILED. It is nil for a name that no such tool has, and for a tool
// without one. Mounted tools describe themselves, so theirs is only a claim.
func (r *Registry) Fits(name string, value any) error {
	found, ok := r.find(name)
	if !ok || found.tool.derived == nil {
		return nil
	}
	schema, err := found.result()
	if err != nil || schema == nil {
		return err
	}
	if err = schema.Check(value); errors.Is(err, fault.LimitExceeded) {
		return nil
	}
	return err
}

// compileOutput returns the schema of the tool's results; nil without one.
func (t Tool) compileOutput() (*schemas.Schema, error) {
	if len(t.Output) == 0 {
		return nil, nil
	}
	what := t.Name + ": output"
	root, err := objectOf(what, t.Output)
	if err != nil {
		return nil, err
	}
	return compile(what, root)
}

// ReceiptKey is the member under which the reply of a witnessed call carries
// the id of its receipt: what think.next takes as result_ref.
const ReceiptKey = "_receipt"

// extraMembers are the members that published results may have beside their
// own: a receipt, and the fault object in place of a result.
var extraMembers = map[string]json.RawMessage{
	ReceiptKey:    json.RawMessage(`{"type":"string"}`),
	"error":       json.RawMessage(`{"type":"string"}`),
	"details":     json.RawMessage(`{"type":"string"}`),
	"diagnostics": json.RawMessage(`{"type":"array"}`),
}

// faultRequires is the alternative to what a result requires.
const faultRequires = `{"required":["error","details"]}`

// restrictingKeywords are the keywords of JSON Schema by which the root of a
// schema may refuse a member that its properties allow, or demand one.
var restrictingKeywords = []string{"patternProperties", "propertyNames", "maxProperties", "minProperties", "unevaluatedProperties",
	"dependentSchemas", "dependentRequired", "dependencies", "enum", "const", "$ref", "$dynamicRef", "allOf", "oneOf", "not", "if"}

// mergedOutput returns a schema whose properties stay where clients look for
// them: what it requires becomes one of two alternatives, and further members
// are allowed. false where its root restricts more than that.
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
	if properties = withExtraMembers(properties); properties == nil || !addFaultAlternative(root) {
		return output, false
	}
	delete(root, "additionalProperties")
	var err error
	if root["properties"], err = json.Marshal(properties); err != nil {
		return output, false
	}
	merged, err := json.Marshal(root)
	return merged, err == nil
}

// withExtraMembers returns properties with the extra ones, nil where one of
// that name is something else. Those of a Savant mounted in this one are the
// same.
func withExtraMembers(properties map[string]json.RawMessage) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(properties)+len(extraMembers))
	for name, schema := range properties {
		if wanted := extraMembers[name]; wanted != nil && !SameJSON(schema, wanted) {
			return nil
		}
		all[name] = schema
	}
	for name, schema := range extraMembers {
		all[name] = schema
	}
	return all
}

// addFaultAlternative makes what a root requires one of two alternatives.
// false where the root has other alternatives.
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
