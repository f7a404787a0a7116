package jsonvalue

import (
	"bytes"
	"encoding/json"

	"savant/internal/pattern"
)

// stringOrNoNumber matches strings, which are kept, and the numbers that JSON does not have. A
// string without its end is one too: to look for the end behind each number would be quadratic.
var stringOrNoNumber = pattern.Lazy(`(?s)"(?:\\.|[^"\\])*"?|-?\b(?:NaN|Infinity)\b`)

// WithoutNaN replaces the numbers that JSON does not have by null, as JavaScript does.
func WithoutNaN(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) || json.Valid(text) {
		return text
	}
	return stringOrNoNumber().ReplaceAllFunc(text, func(part []byte) []byte {
		if part[0] == '"' {
			return part
		}
		return []byte("null")
	})
}
