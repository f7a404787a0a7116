package engines

import (
	"encoding/json"
	"strings"

	"savant/internal/jsonvalue"
)

// faultObject is the alternative to a schema that cannot be merged: a fault object
// instead of a result.
const faultObject = `{"properties":{"error":{"type":"string"},"details":{"type":"string"},"diagnostics":{"type":"array"}},"required":["error","details"]}`

// documentKeywords are keywords that must stay at the root, because references to
// definitions contain their path.
var documentKeywords = []string{"$schema", "$id", "$defs", "definitions"}

// eitherOutput returns a schema that accepts a fault or what the given one accepts. It
// returns false if moving the schema below the root would change the meaning of its
// references.
func eitherOutput(output json.RawMessage) (json.RawMessage, bool) {
	var root map[string]json.RawMessage
	value, err := jsonvalue.Decode(output)
	if err != nil || json.Unmarshal(output, &root) != nil {
		return output, false
	}
	var alternatives []json.RawMessage
	if json.Unmarshal(root["anyOf"], &alternatives) == nil && len(alternatives) == 2 && SameJSON(alternatives[1], []byte(faultObject)) {
		return output, true // of a mounted Savant
	}
	if !movable(value) {
		return output, false
	}
	document := map[string]json.RawMessage{"type": json.RawMessage(`"object"`)}
	for _, keyword := range documentKeywords {
		if root[keyword] != nil {
			document[keyword] = root[keyword]
			delete(root, keyword)
		}
	}
	alone, err := json.Marshal(root)
	if err != nil {
		return output, false
	}
	document["anyOf"] = json.RawMessage(`[` + string(alone) + `,` + faultObject + `]`)
	either, err := json.Marshal(document)
	return either, err == nil
}

// movable reports whether every reference in a schema is a path to a definition. Other
// references name the root, a place below it, or an anchor.
func movable(value any) bool {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			if !movable(each) {
				return false
			}
		}
	case map[string]any:
		for keyword, each := range value {
			target, isText := each.(string)
			switch {
			case keyword == "$dynamicRef" || keyword == "$recursiveRef":
				return false
			case keyword == "$ref" && isText && !strings.HasPrefix(target, "#/$defs/") && !strings.HasPrefix(target, "#/definitions/"):
				return false
			case !movable(each):
				return false
			}
		}
	}
	return true
}
