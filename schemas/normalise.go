package schemas

import (
	"strings"

	"savant/internal/jsonvalue"
)

// Normalise returns what a model most likely meant by a result that is text: the
// value of a JSON object or array, also inside a Markdown code fence, and else
// the trimmed text. A bare number stays text, since only its schema can tell "42"
// from 42. Any other value, with the text inside it, is returned unchanged.
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

// unfence returns the inside of a text that is one fenced block, else the text.
func unfence(text string) string {
	body, opened := strings.CutPrefix(text, "```")
	body, closed := strings.CutSuffix(body, "```")
	language, inner, found := strings.Cut(body, "\n")
	if !opened || !closed || !found || strings.ContainsAny(language, "{[`") {
		return text
	}
	return inner
}
