package jsonvalue

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns JSON in the form of RFC 8785: names sorted, no white space, each text
// and number written in one way. Duplicate names and invalid UTF-8 are errors. It is for
// what other programs sign or compare; integers above 2^53 lose digits, so Savant's own
// digests use Encode.
func Canonical(data []byte) ([]byte, error) {
	value := jsontext.Value(slices.Clone(data))
	if err := value.Canonicalize(); err != nil {
		return nil, located(err, 0, data)
	}
	return value, nil
}
