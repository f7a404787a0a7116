package models

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"

	"savant/internal/pattern"
)

// The types below read what services send beside an answer, in whatever form: nothing
// of it may spoil the answer.

// count is a number, perhaps with a fraction or as text; 0 for anything else.
type count int

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(raw []byte) error {
	*c = count(number(bytes.Trim(raw, `"`)))
	return nil
}

// lenient is a value, or its zero value in place of anything else.
type lenient[T any] struct{ value T }

// UnmarshalJSON never fails.
func (l *lenient[T]) UnmarshalJSON(raw []byte) error {
	var value T
	if json.Unmarshal(raw, &value) == nil {
		l.value = value
	}
	return nil
}

// word is a text, or another value as JSON; "" for null.
type word string

// UnmarshalJSON never fails.
func (w *word) UnmarshalJSON(raw []byte) error {
	if *w = word(inner(raw).text); *w == "" && raw[0] != '"' && string(raw) != "null" {
		*w = word(raw)
	}
	return nil
}

// piece is a part of a text. A surrogate pair may be split over two of them: low ends
// the pair that the piece before began, and high begins one.
type piece struct {
	low, high rune
	text      string
}

// UnmarshalJSON fails for anything but a text.
func (p *piece) UnmarshalJSON(raw []byte) error {
	if at := lowHalf().FindSubmatchIndex(raw); at != nil {
		p.low = half(raw[at[2]:at[3]])
		raw = append([]byte{'"'}, raw[at[1]:]...)
	}
	if at := highHalf().FindSubmatchIndex(raw); at != nil && (at[2]-2-len(bytes.TrimRight(raw[:at[2]-2], `\`)))%2 == 0 {
		p.high = half(raw[at[2]:at[3]])
		raw = append(bytes.Clone(raw[:at[0]]), '"')
	}
	return json.Unmarshal(raw, &p.text)
}

var (
	lowHalf  = pattern.Lazy(`(?i)^"\\u(d[c-f][0-9a-f]{2})`)
	highHalf = pattern.Lazy(`(?i)\\u(d[89ab][0-9a-f]{2})"$`)
)

// half decodes four hexadecimal digits.
func half(digits []byte) rune {
	value, _ := strconv.ParseUint(string(digits), 16, 16) // a pattern checked them
	return rune(value)
}

// inner returns the text of a JSON string; empty for anything else.
func inner(raw []byte) (p piece) {
	if len(raw) > 0 && json.Unmarshal(raw, &p) != nil {
		return piece{}
	}
	return p
}

// join returns the text of the next piece, with the pair that it completes.
func (c *partialAnswer) join(next piece) string {
	text := next.text
	switch {
	case next.low != 0:
		text = string(utf16.DecodeRune(c.half, next.low)) + text
		c.half = 0
	case c.half != 0 && (text != "" || next.high != 0):
		text = "\uFFFD" + text
		c.half = 0
	}
	if next.high != 0 {
		c.half = next.high
	}
	return text
}

// arguments returns the JSON of a call's arguments, or a part of it: an object, or a
// text that holds one.
func (c *partialAnswer) arguments(raw json.RawMessage) string {
	if trimmed := strings.TrimSpace(string(raw)); trimmed != "" && trimmed[0] != '"' && trimmed != "null" {
		return trimmed
	}
	return c.join(inner(raw))
}
