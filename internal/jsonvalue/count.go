package jsonvalue

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Count returns how many values a JSON text holds, members and items each one,
// and at most limit+1: decoded, each takes some 50 bytes beside its own. It ends
// at what is not JSON.
func Count(data []byte, limit int) int {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), tolerant)
	for count := 0; ; {
		token, err := decoder.ReadToken()
		if err != nil || count > limit {
			return count
		}
		container, position := decoder.StackIndex(decoder.StackDepth())
		switch kind := token.Kind(); {
		case kind == '}' || kind == ']': // counted where it began
		case kind == '"' && container == '{' && position%2 == 1: // a name
		default:
			count++
		}
	}
}
