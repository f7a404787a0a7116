// Package visible writes text of others so that a person sees all of it: what a
// model, a file or a server says must not hide a part of itself, steer a terminal,
// or pass for a line of ours.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Line returns text as one line. New lines, tabs and characters that cannot be
// seen are written out, and runs of blank lines become one.
func Line(text string) string {
	return strings.Join(lines(text), `\n`)
}

// Text returns text with its lines. Every line but the first is indented, so that
// none can pass for a line of ours; runs of blank lines become one, and characters
// that cannot be seen are written out. The caller writes its own words before the
// first line.
func Text(text string) string {
	return strings.Join(lines(text), "\n  ")
}

// Block returns text with each of its lines marked as quoted, for a place of its
// own. It treats the text as Text does.
func Block(text string) string {
	return "  | " + strings.Join(lines(text), "\n  | ")
}

// Characters writes out each character that cannot be seen, but for new lines and
// tabs, and changes nothing else.
func Characters(text string) string {
	return written(text, "\n\t")
}

// lines returns the lines of a text, without blank ones at its ends.
func lines(text string) []string {
	var out []string
	blank := false
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		if line == "" {
			blank = len(out) > 0
			continue
		}
		if blank {
			out, blank = append(out, ""), false
		}
		out = append(out, written(narrow(strings.ReplaceAll(line, "\t", "    ")), ""))
	}
	return append(out, make([]string, max(0, 1-len(out)))...)
}

// written writes out what cannot be seen, but for the characters of kept.
func written(text, kept string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if hidden(r) && !strings.ContainsRune(kept, r) {
			fmt.Fprintf(&out, "\\u{%x}", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// hidden says whether a character cannot be seen or changes how others show:
// controls, marks of direction, characters of no width, tags, variation selectors
// that carry data, and blanks other than the space.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r == 0xfe0e || r == 0xfe0f: // say whether the character before is text or an emoji
		return false
	case r == 0x3000: // the space between words in Chinese and Japanese, as wide as a character
		return false
	case r == 0x2800: // the Braille pattern without dots
		return true
	}
	return !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}

// maxSpaces is how many spaces may follow one another. More would push the rest
// of a line out of sight.
const maxSpaces = 64

// narrow replaces long runs of spaces by their number.
func narrow(line string) string {
	if !strings.Contains(line, strings.Repeat(" ", maxSpaces+1)) {
		return line
	}
	var out strings.Builder
	for line != "" {
		rest := strings.TrimLeft(line, " ")
		if spaces := len(line) - len(rest); spaces > maxSpaces {
			fmt.Fprintf(&out, "(%d spaces)", spaces)
		} else {
			out.WriteString(line[:spaces])
		}
		word := strings.IndexByte(rest, ' ')
		if word < 0 {
			word = len(rest)
		}
		out.WriteString(rest[:word])
		line = rest[word:]
	}
	return out.String()
}
