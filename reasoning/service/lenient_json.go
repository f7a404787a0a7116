package service

import (
	"strings"

	"savant/internal/pattern"
)

// lenientJSON repairs almost-JSON: single-quoted strings, trailing commas, Python's
// constants.
func lenientJSON(text string) string {
	return notQuiteJSON().ReplaceAllStringFunc(text, func(part string) string {
		switch part[0] {
		case '"', '\'':
			return requote(part)
		case ',':
			return part[len(part)-1:]
		}
		return map[string]string{"True": "true", "False": "false", "None": "null"}[part]
	})
}

// notQuiteJSON matches the tokens that lenientJSON rewrites. A string may be
// unterminated.
var notQuiteJSON = pattern.Lazy(`(?s)"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|,\s*[}\]]|True|False|None`)

// requote rewrites a string with double quotes and escaped line breaks.
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
