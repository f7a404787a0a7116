package service

import (
	"strings"

	"savant/internal/pattern"
)

// lenientJSON turns what is nearly JSON into JSON: strings in single quotes, commas
// before a closing bracket, Python's constants.
func lenientJSON(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			end := stringEnd(rest)
			out.WriteString(requote(rest[:end]))
			i += end
		case c == ',' && trailingComma().MatchString(rest):
			i++
		default:
			written, length := rest[:1], 1
			for _, pair := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
				if strings.HasPrefix(rest, pair[0]) {
					written, length = pair[1], len(pair[0])
				}
			}
			out.WriteString(written)
			i += length
		}
	}
	return out.String()
}

var trailingComma = pattern.Lazy(`^,\s*[}\]]`)

// stringEnd returns where the string ends that a text begins with.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}

// requote writes a string in double quotes, its line breaks escaped.
func requote(text string) string {
	if len(text) < 2 {
		return text
	}
	quote, inner := text[0], text[1:len(text)-1]
	if quote == '\'' {
		inner = strings.ReplaceAll(inner, `\'`, `'`)
		inner = unescapedQuote().ReplaceAllString(inner, `$1\"`)
	}
	return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(inner) + `"`
}

var unescapedQuote = pattern.Lazy(`((?:^|[^\\])(?:\\\\)*)"`)
