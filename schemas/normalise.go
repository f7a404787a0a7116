package schemas

import (
	"strings"

	"savant/internal/jsonvalue"
)

// Normalise returns what a model most likely meant by a result that is text:
// the text trimmed, and, where it is a JSON object or array (also inside a
// Markdown code fence), the value itself. Any other value, and text inside a
// value, is data and stays as it is; so does text that is a bare number, since
// only its schema can tell "42" from 42.
func Normalise(value any) any {
	text, isText := value.(string)
	if !isText {
		return value
	}
	if inner := JSONText(text); inner != "" {
		if decoded, err := jsonvalue.DecodeStored([]byte(inner)); err == nil {
			return decoded
		}
	}
	return strings.TrimSpace(text)
}

// JSONText returns the part of a text that Normalise decodes, which may turn
// out not to be JSON; "" where it decodes nothing.
func JSONText(text string) string {
	inner := strings.TrimSpace(unfence(strings.TrimSpace(text)))
	if !strings.HasPrefix(inner, "{") && !strings.HasPrefix(inner, "[") {
		return ""
	}
	return inner
}

// unfence returns what is between the fences when the text is one fenced block.
func unfence(text string) string {
	body, opened := strings.CutPrefix(text, "```")
	body, closed := strings.CutSuffix(body, "```")
	language, inner, found := strings.Cut(body, "\n")
	if !opened || !closed || !found || strings.ContainsAny(language, "{[`") {
		return text
	}
	return inner
}
