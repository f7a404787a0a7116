package service

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kaptinlin/jsonrepair"

	"savant/internal/pattern"
)

// Bounds of a repair, which takes time in the square of size and depth. Long strings do
// not count.
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
var wide = pattern.Lazy(`"(?:\\.|[^"\\])*"|“[^”]*”|[｛｝［］【】（）：，＝]`)

// arrowed matches the beginning of an object whose members are those of Ruby, arrow a string
// and what separates it from its value. tripled matches a text of Python.
var (
	arrowed = pattern.Lazy(`^\{\s*(?:"\w+"|'\w+')\s*=>`)
	arrow   = pattern.Lazy(`("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')\s*=>`)
	tripled = pattern.Lazy(`(?s)"""(.*?)"""`)
)

// asciiPunctuation replaces that of other scripts outside of strings.
func asciiPunctuation(text string) string {
	ascii := strings.NewReplacer("｛", "{", "｝", "}", "［", "[", "］", "]", "【", "[", "】", "]", "（", "(", "）", ")", "：", ":", "，", ",", "＝", "=")
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
	text, restore := shortened(tripled().ReplaceAllStringFunc(text, func(part string) string { return string(encode(part[3 : len(part)-3])) }))
	start := strings.IndexAny(text, "{[")
	if len(text) > maxRepaired || start < 0 {
		return "", nil, false
	}
	text = asciiPunctuation(text)
	if arrowed().MatchString(text[start:]) {
		text = arrow().ReplaceAllString(text, "$1:")
	}
	switch found, last := closing(text, start), strings.TrimRight(text, " \t\r\n"); {
	case found.inString, found.deepest > maxDepth:
		return "", nil, false
	case found.end < 0 && !strings.ContainsAny(last[len(last)-1:], `}]"'`+"`") && !strings.HasSuffix(last, "”"):
		return "", nil, false
	case found.end < 0:
		repairs = append(repairs, repairedEnd)
	}
	// The library doubles each backslash of a path, even one that is escaped.
	const escaped = "\uE000"
	fixed, err := jsonrepair.Repair(strings.ReplaceAll(text, `\\`, escaped))
	fixed = restore.Replace(strings.ReplaceAll(fixed, escaped, `\\`))
	if err != nil || !json.Valid([]byte(fixed)) {
		return "", nil, false
	}
	return fixed, append(repairs, repairedJSON), true
}

var quotedString = pattern.Lazy(`"(?:\\.|[^"\\])*"`)

// longString is the length of a string that is not repaired itself.
const longString = 1000

// shortened replaces the long strings of a text by short ones, which the replacer restores.
func shortened(text string) (short string, restore *strings.Replacer) {
	var pairs []string
	short = quotedString().ReplaceAllStringFunc(text, func(part string) string {
		if len(part) < longString {
			return part
		}
		mark := fmt.Sprintf("\uE001%d\uE001", len(pairs))
		pairs = append(pairs, mark, strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(part[1:len(part)-1]))
		return `"` + mark + `"`
	})
	return short, strings.NewReplacer(pairs...)
}

// bracketed is what stands from a bracket on.
type bracketed struct {
	// end is where the bracket closes, or -1.
	end, deepest int
	inString     bool // the text ends within a string
}

// closing finds the end of the object or list that begins at start.
func closing(text string, start int) (found bracketed) {
	depth := 0
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case found.inString && c == '\\':
			i++
		case c == '"':
			found.inString = !found.inString
		case found.inString:
		case c == '{' || c == '[':
			depth++
			found.deepest = max(found.deepest, depth)
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				found.end = i + 1
				return found
			}
		}
	}
	found.end = -1
	return found
}
