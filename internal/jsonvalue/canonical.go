package jsonvalue

import (
	"fmt"
	"math"
	"strconv"

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

// UnmarshalShared is Unmarshal for JSON that other programs read, too: a number for an int
// is what a double makes of it, which must be whole and below 2^53.
func UnmarshalShared(data []byte, into any) error { return unmarshal(data, into, doubles) }

var doubles = json.UnmarshalFromFunc(func(from *jsontext.Decoder, into *int) error {
	token, err := from.ReadToken()
	if err != nil || token.Kind() == 'n' {
		*into = 0
		return err
	}
	const safe = 1 << 53
	value, _ := strconv.ParseFloat(token.String(), 64) // infinite beyond a double
	if token.Kind() != '0' || value != math.Trunc(value) || math.Abs(value) >= safe {
		return fmt.Errorf("%.20s is no whole number below 2^53", token)
	}
	*into = int(value)
	return nil
})
