package jsonvalue

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Encode returns the one encoding of a value: keys sorted by bytes, no spaces,
// no HTML escapes. (RFC 8785 is not used: it rounds integers above 2^53.)
func Encode(value any) ([]byte, error) { return Append(nil, value) }

// Appender is a value that knows its canonical JSON, so that it is neither
// looked at by reflection nor checked.
type Appender interface {
	AppendJSON(out []byte) ([]byte, error)
}

// Append is Encode at the end of out. It is what encoding/json writes, several
// times as fast where the value is of the forms of this package.
func Append(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case string:
		return AppendText(out, v), nil
	case []any:
		if v != nil {
			return appendList(out, v)
		}
	case map[string]any:
		if v != nil {
			return appendObject(out, v)
		}
	case Appender:
		return v.AppendJSON(out)
	}
	return appendOther(out, value)
}

// AppendText is Append for a text.
func AppendText(out []byte, text string) []byte {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		out, _ = appendOther(out, text) // each text has an encoding
		return out
	}
	out = append(out, '"')
	out = append(out, text...)
	return append(out, '"')
}

func appendList(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = Append(out, item); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendObject(out []byte, object map[string]any) (_ []byte, err error) {
	out = append(out, '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendText(out, key), ':')
		if out, err = Append(out, object[key]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendOther(out []byte, value any) ([]byte, error) {
	buffer := bytes.NewBuffer(out)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
