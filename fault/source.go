package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is how many characters of a line a diagnostic quotes.
const maxLine = 120

// Quoting returns the diagnostic with its source: the line of a file's text and a caret
// under the column. A diagnostic without a line, or with a source, is unchanged.
func (d Diagnostic) Quoting(text string) Diagnostic {
	if d.Source != "" || d.Line < 1 || d.Column < 1 {
		return d
	}
	for range d.Line - 1 {
		_, rest, more := strings.Cut(text, "\n")
		if text = rest; !more {
			return d
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	if line == "" || !utf8.ValidString(line) {
		return d
	}
	characters, at := []rune(line), d.Column-1
	if at > len(characters) {
		return d
	}
	from, to := 0, len(characters)
	if to > maxLine {
		from = max(0, min(at-maxLine/2, to-maxLine))
		to = min(from+maxLine, to)
	}
	var quoted, below strings.Builder
	for i, each := range characters[from:to] {
		quoted.WriteRune(each)
		switch {
		case from+i >= at:
		case each == '\t':
			below.WriteByte('\t')
		default:
			below.WriteByte(' ')
		}
	}
	d.Source = quoted.String() + "\n" + below.String() + "^"
	return d
}
