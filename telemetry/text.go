package telemetry

import (
	"bytes"
	"encoding/json"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// cut returns at most maxText bytes of a text.
func cut(text string) string { return fault.Cut(text, maxText) }

// short returns JSON without spaces if it has at most maxText bytes, and else
// its beginning as a JSON string.
func short(raw json.RawMessage) json.RawMessage {
	var compact bytes.Buffer
	if len(raw) <= 2*maxText && json.Compact(&compact, raw) == nil && compact.Len() <= maxText {
		return compact.Bytes()
	}
	text, err := jsonvalue.Encode(cut(string(raw)))
	if err != nil { // a string always encodes
		return json.RawMessage("null")
	}
	return text
}

// boundTexts cuts every text in a JSON value, in place.
func boundTexts(value any) any {
	switch v := value.(type) {
	case string:
		return cut(v)
	case []any:
		for i := range v {
			v[i] = boundTexts(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = boundTexts(v[name])
		}
	}
	return value
}
