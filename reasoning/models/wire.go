package models

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"savant/internal/pattern"
)

// What services send beside an answer is read with gjson, in whatever form: nothing of it
// may spoil the answer.

// tokens is a number, perhaps with a fraction or as text; 0 for anything else.
func tokens(value gjson.Result) int {
	if number := value.Float(); number > 0 && number < 1<<40 {
		return int(number)
	}
	return 0
}

// highHalf matches the first half of a surrogate pair at the end of a text in JSON.
var highHalf = pattern.Lazy(`(?i)^(?:[^\\]|\\[^u]|\\u[0-9a-f]{4})*?(\\ud[89ab][0-9a-f]{2})?$`)

// join returns the text of the next part of one, "" if it is no text. A surrogate pair may be
// split over two parts: its first half waits for the next.
func (c *partialAnswer) join(next gjson.Result) string {
	if next.Type != gjson.String {
		return ""
	}
	part := c.half + next.Raw[1:len(next.Raw)-1]
	c.half = highHalf().FindStringSubmatch(part)[1]
	text := ""
	_ = json.Unmarshal([]byte(`"`+strings.TrimSuffix(part, c.half)+`"`), &text) // it is JSON
	return text
}

// textOf returns a text, or what a list of parts has of it.
func textOf(value gjson.Result) string {
	var text strings.Builder
	for _, each := range value.Array() {
		text.WriteString(cmp.Or(each.Get("text").Str, each.Str))
	}
	return text.String()
}

// arguments returns the JSON of a call's arguments, or a part of it: an object, or a
// text that holds one.
func (c *partialAnswer) arguments(given gjson.Result) string {
	if given.Type == gjson.JSON {
		return given.Raw
	}
	return c.join(given)
}
