package mcpio

import (
	"encoding/json"
	"slices"
)

// Clients hold structured content against the output schema they were shown,
// the public TypeScript client that of errors too, and then shows no more of
// an error than that it does not fit. So what is published takes errors as well
// as results, and either with a receipt.

// extra are the members that published results may have beside their own: a
// receipt, and the fault object in place of a result.
var extra = map[string]json.RawMessage{
	ReceiptKey:    json.RawMessage(`{"type":"string"}`),
	"error":       json.RawMessage(`{"type":"string"}`),
	"details":     json.RawMessage(`{"type":"string"}`),
	"diagnostics": json.RawMessage(`{"type":"array"}`),
}

// faultNeeds is the alternative to what a result needs.
const faultNeeds = `{"required":["error","details"]}`

// closed are the keywords of JSON Schema by which the root of a schema may
// refuse a member that its properties allow, or demand one.
var closed = []string{"patternProperties", "propertyNames", "maxProperties", "minProperties", "unevaluatedProperties",
	"dependentSchemas", "dependentRequired", "dependencies", "enum", "const", "$ref", "$dynamicRef", "allOf", "oneOf", "not", "if"}

// openness is what an output schema takes, as it is published, beside results.
type openness struct{ receipts, faults bool }

// opened returns an output schema as it is published, and what that takes:
// everything where it can be merged, faults alone where it is one of two
// alternatives as it is, nothing where that cannot be done either.
func opened(output json.RawMessage) (json.RawMessage, openness) {
	if len(output) == 0 {
		return output, openness{true, true}
	}
	if open, ok := merged(output); ok {
		return open, openness{true, true}
	}
	if open, ok := beside(output); ok {
		return open, openness{faults: true}
	}
	return output, openness{}
}

// merged returns a schema whose properties stay where clients look for them:
// what it requires becomes one of two alternatives, and further members are
// allowed. false where its root says more.
func merged(output json.RawMessage) (json.RawMessage, bool) {
	var root, properties map[string]json.RawMessage
	if json.Unmarshal(output, &root) != nil {
		return output, false
	}
	if slices.ContainsFunc(closed, func(keyword string) bool { return root[keyword] != nil }) {
		return output, false
	}
	if given := root["properties"]; given != nil && json.Unmarshal(given, &properties) != nil {
		return output, false
	}
	if properties = withExtra(properties); properties == nil || !withAlternative(root) {
		return output, false
	}
	delete(root, "additionalProperties")
	var err error
	if root["properties"], err = json.Marshal(properties); err != nil {
		return output, false
	}
	open, err := json.Marshal(root)
	return open, err == nil
}

// withExtra returns properties with the extra ones; nil where one of that name
// is something else. Those of a Savant mounted in this one are the same.
func withExtra(properties map[string]json.RawMessage) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(properties)+len(extra))
	for name, schema := range properties {
		if wanted := extra[name]; wanted != nil && !sameJSON(schema, wanted) {
			return nil
		}
		all[name] = schema
	}
	for name, schema := range extra {
		all[name] = schema
	}
	return all
}

// withAlternative makes what a root requires one of two alternatives. false is
// a root that has others.
func withAlternative(root map[string]json.RawMessage) bool {
	if given := root["anyOf"]; given != nil {
		var alternatives []json.RawMessage
		return json.Unmarshal(given, &alternatives) == nil && len(alternatives) == 2 && sameJSON(alternatives[1], []byte(faultNeeds))
	}
	if needs := root["required"]; needs != nil {
		root["anyOf"] = json.RawMessage(`[{"required":` + string(needs) + `},` + faultNeeds + `]`)
		delete(root, "required")
	}
	return true
}
