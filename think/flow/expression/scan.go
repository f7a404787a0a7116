package expression

import "strings"

const (
	opening = "{{"
	closing = "}}"
)

// expressionEnd returns where the expression at the beginning of a text ends:
// the offset of its }}. Quotes and the braces of objects are part of it.
func expressionEnd(text string) (end int, found bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch char := text[i]; char {
		case '"', '\'', '`':
			length, closed := quoted(text[i:])
			if !closed {
				return 0, false
			}
			i += length - 1
		case '{':
			depth++
		case '}':
			if depth > 0 {
				depth--
			} else {
				return i, strings.HasPrefix(text[i:], closing)
			}
		}
	}
	return 0, false
}

// quoted returns the length of the string literal at the beginning of a text.
func quoted(text string) (length int, closed bool) {
	mark := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark != '`':
			i++
		case text[i] == mark:
			return i + 1, true
		}
	}
	return 0, false
}

// Unwrap returns the expression of a source that consists of one {{ }}, and its byte
// offset. Any other source is returned unchanged, with offset 0. when and foreach
// accept an expression with and without {{ }}.
func Unwrap(source string) (inner string, offset int) {
	start := len(source) - len(strings.TrimLeft(source, " \t\r\n"))
	body, ok := strings.CutPrefix(source[start:], opening)
	if !ok {
		return source, 0
	}
	end, found := expressionEnd(body)
	if !found || strings.TrimSpace(body[end+len(closing):]) != "" {
		return source, 0
	}
	return body[:end], start + len(opening)
}
