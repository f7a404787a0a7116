package jsonvalue

import (
	"bytes"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member returns the value of a top-level member of an object, the last one of
// its name, or nil. It does not check that the rest of the text is JSON.
func Member(object []byte, name string) []byte {
	var found []byte
	for key, value := range Members(object) {
		if key == name {
			found = value
		}
	}
	return found
}

// Members yields the name and the JSON of each top-level member of an object, in
// order. It stops at the first syntax error, and at a member with one of the names of
// before, whose value it does not read.
func Members(object []byte, before ...string) iter.Seq2[string, []byte] {
	return func(yield func(name string, value []byte) bool) {
		decoder := jsontext.NewDecoder(bytes.NewBuffer(object), tolerant)
		if opened, err := decoder.ReadToken(); err != nil || opened.Kind() != '{' {
			return
		}
		for decoder.PeekKind() == '"' {
			name, err := decoder.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			if slices.Contains(before, key) {
				return
			}
			value, err := decoder.ReadValue()
			if err != nil {
				return
			}
			end := int(decoder.InputOffset()) // the decoder reuses value
			if !yield(key, object[end-len(value):end:end]) {
				return
			}
		}
	}
}

// TextMember is Member of a string, empty where it is none.
func TextMember(object []byte, name string) string {
	return Text(Member(object, name))
}

// Text returns the value of a JSON string, empty where it is none.
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the error reports invalid UTF-8, which is replaced
	return string(text)
}
