package jsonvalue

import (
	"bytes"
	std "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// Appender is a value that knows its canonical JSON, so that it is neither
// looked at by reflection nor checked.
type Appender interface {
	AppendJSON(out []byte) ([]byte, error)
}

// canonical are the options of the one encoding. It is that of encoding/json
// without escapes for HTML. (RFC 8785 is not used: it rounds integers above
// 2^53.)
var canonical = json.JoinOptions(v1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.AllowInvalidUTF8(false),
	json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, n std.Number) error {
		if n == "" {
			n = "0" // as encoding/json has it
		}
		return to.WriteValue(jsontext.Value(n))
	})))

// Encode returns the one encoding of a value: keys sorted by bytes, no spaces,
// no HTML escapes.
func Encode(value any) ([]byte, error) { return Append(nil, value) }

// Append is Encode at the end of out.
func Append(out []byte, value any) ([]byte, error) {
	if v, ok := value.(Appender); ok {
		return v.AppendJSON(out)
	}
	buffer := bytes.NewBuffer(out)
	if json.MarshalWrite(buffer, value, canonical) == nil && !hasSeparators(buffer.Bytes()[len(out):]) {
		return buffer.Bytes(), nil
	}
	return appendOther(out, value)
}

// AppendText is Append of a text.
func AppendText(out []byte, text string) []byte {
	out, _ = Append(out, text) // every text has an encoding
	return out
}

// hasSeparators says whether there are line or paragraph separators, U+2028 and
// U+2029.
func hasSeparators(data []byte) bool {
	return bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("\u2029"))
}

// appendOther encodes with encoding/json the few texts that the other library
// writes otherwise, since digests cover every byte: what is not UTF-8 is the
// escape \ufffd, and separators are escapes but in a json.RawMessage.
func appendOther(out []byte, value any) ([]byte, error) {
	buffer := bytes.NewBuffer(out)
	encoder := std.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// Compact appends JSON without the spaces between its tokens.
func Compact(to *bytes.Buffer, data []byte) error {
	return format(to, data)
}

// Indent appends JSON for people, with two spaces a level.
func Indent(to *bytes.Buffer, data []byte) error {
	return format(to, data, jsontext.WithIndent("  "))
}

func format(to *bytes.Buffer, data []byte, options ...jsontext.Options) error {
	all := append(options, tolerant, jsontext.PreserveRawStrings(true))
	formatted, err := jsontext.AppendFormat(to.AvailableBuffer(), data, all...)
	if err != nil {
		return err
	}
	to.Write(formatted)
	return nil
}
