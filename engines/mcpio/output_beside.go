package mcpio

import (
	"encoding/json"
	"strings"
)

// faultAlone is the alternative to a schema that stays as it is: a fault object
// in place of a result.
const faultAlone = `{"properties":{"error":{"type":"string"},"details":{"type":"string"},"diagnostics":{"type":"array"}},"required":["error","details"]}`

// ofDocument are the keywords of a root that are about the whole document, and
// stay there: references lead to the definitions by their place.
var ofDocument = []string{"$schema", "$id", "$defs", "definitions"}

// beside returns a schema that takes what the one given takes, or a fault. false
// where it holds what would mean something else below the root.
func beside(output json.RawMessage) (json.RawMessage, bool) {
	if isBeside(output) { // of a Savant mounted in this one
		return output, true
	}
	var root map[string]json.RawMessage
	if json.Unmarshal(output, &root) != nil || !movable(output) {
		return output, false
	}
	document := map[string]json.RawMessage{"type": json.RawMessage(`"object"`)}
	for _, keyword := range ofDocument {
		if root[keyword] != nil {
			document[keyword] = root[keyword]
			delete(root, keyword)
		}
	}
	alone, err := json.Marshal(root)
	if err != nil {
		return output, false
	}
	document["anyOf"] = json.RawMessage(`[` + string(alone) + `,` + faultAlone + `]`)
	open, err := json.Marshal(document)
	return open, err == nil
}

// isBeside knows what beside returns.
func isBeside(output json.RawMessage) bool {
	var root struct{ AnyOf []json.RawMessage }
	return json.Unmarshal(output, &root) == nil && len(root.AnyOf) == 2 && sameJSON(root.AnyOf[1], []byte(faultAlone))
}

// movable says whether every reference of a schema leads to a definition, by its
// place in the document. Others lead to the root, below it, or to what stands
// there by name.
func movable(schema json.RawMessage) bool {
	var value any
	return json.Unmarshal(schema, &value) == nil && movableValue(value)
}

func movableValue(value any) bool {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			if !movableValue(each) {
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
			case !movableValue(each):
				return false
			}
		}
	}
	return true
}

func takesFaults(output json.RawMessage) bool {
	_, takes := opened(output)
	return takes.faults
}

func takesReceipts(output json.RawMessage) bool {
	_, takes := opened(output)
	return takes.receipts
}
