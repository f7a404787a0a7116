package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine is how many characters of a line a diagnostic quotes.
const maxLine = 120

// maxQuoted bounds a line that is quoted, in bytes: a longer one was written by a program,
// and to find a column in it for each of its findings takes minutes.
const maxQuoted = 16 << 10

// Lines are the lines of a text, for Quoting.
func Lines(text string) []string { return strings.Split(text, "\n") }

// Quoting returns the diagnostic with its source: the line of the file and a caret under
// the column. lines are all lines of the file. A diagnostic that has no line, or a line
// over maxQuoted, or has a source, is unchanged.
func (d Diagnostic) Quoting(lines []string) Diagnostic {
	if d.Source != "" || d.Line < 1 || d.Column < 1 || d.Line > len(lines) {
		return d
	}
	line := lines[d.Line-1]
	if len(line) > maxQuoted {
		return d
	}
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

// Place is where a value begins in a file: line and column, from 1. The zero Place is
// nowhere.
type Place struct{ Line, Column int }

// Places are the places of a file's values by their diagnostic paths
// ("commands.tests.args[0]"). A member has the place of its key.
type Places map[string]Place

// Around returns the place of a path, or of the nearest value around it.
func (p Places) Around(path string) Place {
	for at := path; ; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if place := p[at]; place.Line > 0 || at == "" {
			return place
		}
	}
}
