package service

import (
	"strings"

	"savant/internal/pattern"
)

// soften makes JSON of what is nearly so: strings in single quotes, commas
// before a closing bracket, Python's constants.
func soften(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			end := stringEnd(text, i)
			out.WriteString(requote(text[i:end]))
			i = end
		case c == ',' && closesNext(text[i+1:]):
			i++
		default:
			if word, constant := pythonConstant(text, i); constant != "" {
				out.WriteString(constant)
				i += len(word)
				continue
			}
			out.WriteByte(c)
			i++
		}
	}
	return out.String()
}

// stringEnd returns where the string ends that begins at start.
func stringEnd(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[start]:
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

func closesNext(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}

func pythonConstant(text string, at int) (word, constant string) {
	for _, pair := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
		if strings.HasPrefix(text[at:], pair[0]) {
			return pair[0], pair[1]
		}
	}
	return "", ""
}
