package jsonvalue

import (
	"bytes"
	"cmp"
	std "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// canonical are the options of the one encoding: that of encoding/json without
// HTML escapes. RFC 8785 is not used, since it rounds integers above 2^53.
var canonical = json.JoinOptions(v1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.AllowInvalidUTF8(false),
	json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, n std.Number) error {
		if n == "" {
			n = "0" // as encoding/json has it
		}
		return to.WriteValue(jsontext.Value(n))
	})))

// Encode returns the one encoding of a value: keys sorted by bytes, no spaces,
// no HTML escapes.
func Encode(value any) ([]byte, error) {
	data, err := json.Marshal(value, canonical)
	if err == nil && !bytes.Contains(data, []byte("\u2028")) && !bytes.Contains(data, []byte("\u2029")) {
		return data, nil
	}
	return encodeStandard(value)
}

// EncodeIndented is Encode for people to read: each member and item on a line of its
// own. It takes memory for about size bytes at once.
func EncodeIndented(value any, size int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(size)
	err := json.MarshalWrite(&out, value, canonical, jsontext.WithIndent("  "))
	if err == nil && !bytes.Contains(out.Bytes(), []byte("\u2028")) && !bytes.Contains(out.Bytes(), []byte("\u2029")) {
		return out.Bytes(), nil
	}
	data, err := encodeStandard(value)
	if err != nil {
		return nil, err
	}
	out.Reset()
	err = std.Indent(&out, data, "", "  ")
	return out.Bytes(), err
}

// encodeStandard encodes with encoding/json. Digests cover every byte, and the
// other library differs in two cases: text that is not UTF-8 (here the escape
// \ufffd), and U+2028 and U+2029 (here escapes, but not in a json.RawMessage).
func encodeStandard(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := std.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// asWritten are the options of Compact.
var asWritten = json.JoinOptions(tolerant, jsontext.PreserveRawStrings(true))

// Compact returns a copy of a JSON value without the white space between its tokens.
// Strings and numbers stay as they are written.
func Compact(data []byte) ([]byte, error) {
	compact, err := jsontext.AppendFormat(make([]byte, 0, len(data)), data, asWritten)
	if err != nil {
		return nil, located(err, 0, data)
	}
	return compact, nil
}

// Object is a JSON object whose members keep their order when it is encoded.
type Object []Pair

// Pair is one member of an Object.
type Pair struct {
	Name  string
	Value any
}

// Add appends a member.
func (o *Object) Add(name string, value any) { *o = append(*o, Pair{name, value}) }

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for i, each := range o {
		name, err := Encode(each.Name)
		if err != nil {
			return nil, err
		}
		value, err := Encode(each.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// MarshalJSONTo implements json.MarshalerTo: within another value it is not written twice.
func (o Object) MarshalJSONTo(to *jsontext.Encoder) error {
	err := to.WriteToken(jsontext.BeginObject)
	for _, each := range o {
		err = cmp.Or(err, to.WriteToken(jsontext.String(each.Name)), json.MarshalEncode(to, each.Value))
	}
	return cmp.Or(err, to.WriteToken(jsontext.EndObject))
}

// Encoded is Encode for a value that came from JSON, and so can be encoded; null otherwise.
func Encoded(value any) std.RawMessage {
	data, err := Encode(value)
	if err != nil {
		return std.RawMessage("null")
	}
	return data
}

// Recode returns a value as reading its encoding gives it.
func Recode(value any) (any, error) {
	data, err := Encode(value)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}
