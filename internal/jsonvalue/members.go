package jsonvalue

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Member returns the value of a top-level member of an object, the last one of
// its name, or nil. The text is known to be JSON; of anything else the members
// before the fault are found.
func Member(object []byte, name string) []byte {
	var found []byte
	for key, value := range Members(object) {
		if IsName(key, name) {
			found = value
		}
	}
	return found
}

// Members goes over the top-level members of an object in their order, names
// as the JSON strings they are, and decodes nothing. It stops at what is not
// JSON.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		decoder := jsontext.NewDecoder(bytes.NewBuffer(object), tolerant)
		if opened, err := decoder.ReadToken(); err != nil || opened.Kind() != '{' {
			return
		}
		for decoder.PeekKind() == '"' {
			name, named := nextValue(decoder, object)
			value, valued := nextValue(decoder, object)
			if !named || !valued || !yield(name, value) {
				return
			}
		}
	}
}

// nextValue returns the text of the next value of a decoder: a part of data, as
// what the decoder returns does not stay.
func nextValue(decoder *jsontext.Decoder, data []byte) ([]byte, bool) {
	value, err := decoder.ReadValue()
	if err != nil {
		return nil, false
	}
	end := int(decoder.InputOffset())
	return data[end-len(value) : end : end], true
}

// TextMember is Member of a string, empty where it is none.
func TextMember(object []byte, name string) string {
	return Text(Member(object, name))
}

// Text returns the value of a JSON string, empty where it is none.
func Text(raw []byte) string {
	text, _ := asText(raw)
	return text
}

func asText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
		return string(text), true
	}
	token, err := jsontext.NewDecoder(bytes.NewBuffer(raw), tolerant).ReadToken()
	if err != nil {
		return "", false
	}
	return token.String(), true
}

// IsName says whether a JSON string is a name.
func IsName(key []byte, name string) bool {
	text, isText := asText(key)
	return isText && text == name
}
