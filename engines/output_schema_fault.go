package engines

import (
	"encoding/json"
	"strings"

	"savant/internal/jsonvalue"
)

// faultObject is the alternative to a schema that stays as it is: a fault
// object in place of a result.
const faultObject = `{"properties":{"error":{"type":"string"},"details":{"type":"string"},"diagnostics":{"type":"array"}},"required":["error","details"]}`

// documentKeywords are the keywords of a root that concern the whole document
// and stay there, since references name the definitions by their place.
var documentKeywords = []string{"$schema", "$id", "$defs", "definitions"}

// eitherOutput returns a schema that accepts what the one given accepts, or a
// fault. false where the schema holds references that would mean something else
// below the root.
func eitherOutput(output json.RawMessage) (json.RawMessage, bool) {
	var root map[string]json.RawMessage
	value, err := jsonvalue.Decode(output)
	if err != nil || json.Unmarshal(output, &root) != nil {
		return output, false
	}
	var alternatives []json.RawMessage
	if json.Unmarshal(root["anyOf"], &alternatives) == nil && len(alternatives) == 2 && SameJSON(alternatives[1], []byte(faultObject)) {
		return output, true // of a Savant mounted in this one
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

// movable says whether every reference of a schema names a definition by its
// place in the document. Other references name the root, a place below it, or
// an anchor.
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
