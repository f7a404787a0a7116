package jsonvalue

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns a value, or JSON as a json.RawMessage, in the form of RFC 8785: names
// sorted, no white space, each text and number written in one way. A list that is nil is
// an empty one. Duplicate names and invalid UTF-8 are errors. It is for what other programs
// sign or compare; integers above 2^53 lose digits, so Savant's own digests use Encode.
func Canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err == nil {
		err = (*jsontext.Value)(&text).Canonicalize()
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
