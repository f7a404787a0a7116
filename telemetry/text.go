package telemetry

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"savant/internal/jsonvalue"
)

// cut returns at most maxText bytes of a text, ending in "…" where it was cut,
// never inside a character.
func cut(text string) string { return cutTo(text, maxText) }

func cutTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// short returns JSON without spaces that is not longer than a text may be; else
// the beginning of it, as a JSON string.
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

// bounded returns a value of JSON with every text in it cut.
func bounded(value any) any {
	switch v := value.(type) {
	case string:
		return cut(v)
	case []any:
		for i := range v {
			v[i] = bounded(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = bounded(v[name])
		}
	}
	return value
}
