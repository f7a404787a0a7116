package service

import (
	"encoding/json"
	"strings"

	"github.com/kaptinlin/jsonrepair"

	"savant/internal/pattern"
)

// Bounds of a repair, which takes time in the square of size and depth.
const (
	maxRepaired = 32 << 10
	maxDepth    = 100
)

// Repairs that Intent.Repairs lists.
const (
	repairedJSON = "it was not quite JSON"
	repairedEnd  = "its last brackets were missing"
)

// wide matches strings, which are kept, and the punctuation of other scripts.
var wide = pattern.Lazy(`"(?:\\.|[^"\\])*"|“[^”]*”|[｛｝［］：，]`)

// asciiPunctuation replaces that of other scripts outside of strings.
func asciiPunctuation(text string) string {
	ascii := strings.NewReplacer("｛", "{", "｝", "}", "［", "[", "］", "]", "：", ":", "，", ",")
	return wide().ReplaceAllStringFunc(text, func(part string) string {
		if strings.HasPrefix(part, `"`) || strings.HasPrefix(part, "“") {
			return part
		}
		return ascii.Replace(part)
	})
}

// repaired returns the JSON that a text means, and the repairs it took; false if it is
// none. Brackets may be missing at the end, but not the end of a string or a number: no
// tool is called with half an argument.
func repaired(text string) (fixed string, repairs []string, ok bool) {
	if json.Valid([]byte(text)) {
		return text, nil, true
	}
	if len(text) > maxRepaired || !strings.ContainsAny(text, "{[") {
		return "", nil, false
	}
	text = asciiPunctuation(text)
	open, inString := unclosed(text)
	switch last := strings.TrimRight(text, " \t\r\n"); {
	case inString, open > maxDepth:
		return "", nil, false
	case open > 0 && !strings.ContainsAny(last[len(last)-1:], `}]"'`+"`") && !strings.HasSuffix(last, "”"):
		return "", nil, false
	case open > 0:
		repairs = append(repairs, repairedEnd)
	}
	// The library doubles each backslash of a path, even one that is escaped.
	const escaped = "\uE000"
	fixed, err := jsonrepair.Repair(strings.ReplaceAll(text, `\\`, escaped))
	fixed = strings.ReplaceAll(fixed, escaped, `\\`)
	if err != nil || !json.Valid([]byte(fixed)) {
		return "", nil, false
	}
	return fixed, append(repairs, repairedJSON), true
}

// unclosed returns how many brackets a text leaves open, at most, and whether it ends
// within a string.
func unclosed(text string) (open int, inString bool) {
	deepest := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	if deepest > maxDepth {
		return deepest, inString
	}
	return open, inString
}
