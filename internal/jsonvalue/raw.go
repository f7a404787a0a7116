package jsonvalue

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// The functions of this file take JSON that is known to be valid and go over it
// without decoding: of anything else they say something, without harm.

// Member returns the value of a top-level member of an object, the last one of
// its name, or nil.
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
// as the JSON strings they are.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest := skipSpace(object)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		for rest = skipSpace(rest[1:]); len(rest) > 0 && rest[0] == '"'; rest = skipSpace(rest[1:]) {
			end := 1 + stringEnd(rest[1:])
			name := rest[:end]
			rest = skipSpace(rest[end:])
			if len(rest) == 0 || rest[0] != ':' {
				return
			}
			rest = skipSpace(rest[1:])
			size := valueEnd(rest)
			if !yield(name, bytes.TrimRight(rest[:size], " \t\r\n")) {
				return
			}
			if rest = rest[size:]; len(rest) == 0 || rest[0] != ',' {
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
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Compact appends JSON without the spaces between its tokens. Most has none,
// and is not gone over again.
func Compact(to *bytes.Buffer, data []byte) error {
	if spaced(data) {
		return json.Compact(to, data)
	}
	to.Write(data)
	return nil
}

// spaced says whether there are spaces between the tokens.
func spaced(data []byte) bool {
	for len(data) > 0 {
		quote := bytes.IndexByte(data, '"')
		between := data
		if quote >= 0 {
			between = data[:quote]
		}
		if bytes.ContainsAny(between, " \n\r\t") {
			return true
		}
		if quote < 0 {
			return false
		}
		data = data[quote+1:]
		data = data[stringEnd(data):]
	}
	return false
}

// stringEnd returns the length of a string behind its first quote.
func stringEnd(data []byte) int {
	for at := 0; ; at++ {
		next := bytes.IndexByte(data[at:], '"')
		if next < 0 {
			return len(data)
		}
		at += next
		escapes := 0
		for at-escapes > 0 && data[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// valueEnd returns the length of a value, with the spaces behind it.
func valueEnd(data []byte) int {
	depth := 0
	for at := 0; at < len(data); {
		switch data[at] {
		case '"':
			at += 1 + stringEnd(data[at+1:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return len(data)
}

func skipSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }

// IsName says whether a JSON string is a name.
func IsName(key []byte, name string) bool {
	if len(key) >= 2 && bytes.IndexByte(key, '\\') < 0 && utf8.Valid(key) {
		return string(key[1:len(key)-1]) == name
	}
	return Text(key) == name
}
