package schemas

import (
	"strings"

	"savant/internal/jsonvalue"
)

// Normalise interprets a textual result of a model: it decodes a JSON object or array,
// even inside a Markdown code fence, and trims any other text. A bare number stays
// text, because only its schema distinguishes "42" from 42. A value that is not text is
// returned unchanged.
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

// JSONText returns the part of a text that Normalise tries to decode as JSON; "" if it
// tries none.
func JSONText(text string) string {
	inner := strings.TrimSpace(unfence(strings.TrimSpace(text)))
	if !strings.HasPrefix(inner, "{") && !strings.HasPrefix(inner, "[") {
		return ""
	}
	return inner
}

// unfence removes the fence of a text that consists of one fenced block.
func unfence(text string) string {
	body, opened := strings.CutPrefix(text, "```")
	body, closed := strings.CutSuffix(body, "```")
	language, inner, found := strings.Cut(body, "\n")
	if !opened || !closed || !found || strings.ContainsAny(language, "{[`") {
		return text
	}
	return inner
}
