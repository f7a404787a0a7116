// Package visible formats untrusted text so that a person sees all of it: text of a
// model, a file or a server must not hide a part of itself, control a terminal, or
// imitate output of Savant.
package visible

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text as one line. It escapes line breaks, tabs and invisible characters,
// and reduces runs of blank lines to one.
func Line(text string) string {
	return strings.Join(lines(text), `\n`)
}

// Text returns text with its lines. It indents every line but the first, so that none
// can imitate output of Savant, reduces runs of blank lines to one, and escapes
// invisible characters. The caller writes its own words before the first line.
func Text(text string) string {
	return strings.Join(lines(text), "\n  ")
}

// Block returns text as a quotation: each line begins with "|". It treats the text as
// Text does.
func Block(text string) string {
	return "  | " + strings.Join(lines(text), "\n  | ")
}

// Characters escapes each invisible character except line breaks and tabs, and changes
// nothing else.
func Characters(text string) string {
	return escape(text, "\n\t")
}

// JSON escapes the invisible characters of a JSON text as JSON does, so that it holds the
// same value and cannot control a terminal. White space between tokens stays.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, inJSON) {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if !inJSON(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, "\\u%04x", unit)
		}
	}
	return out
}

// inJSON reports whether a character of a JSON text is escaped: JSON itself escapes those
// below the space.
func inJSON(r rune) bool { return r >= ' ' && hidden(r) }

// lines returns the lines of a text, without blank ones at its start and end.
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
		out = append(out, escape(narrow(strings.ReplaceAll(line, "\t", "    ")), ""))
	}
	return append(out, make([]string, max(0, 1-len(out)))...)
}

// escape escapes invisible characters except those in kept.
func escape(text, kept string) string {
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

// hidden reports whether a character is invisible or changes how others look: control
// characters, marks of direction, characters without width, tags, variation selectors
// that carry data, and white space other than the space.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r == 0xfe0e || r == 0xfe0f: // they choose between text and emoji
		return false
	case r == 0x3000: // the space between words in Chinese and Japanese, as wide as a character
		return false
	case r == 0x2800: // the Braille pattern without dots
		return true
	}
	return !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}

// maxSpaces is the maximum number of consecutive spaces: more could push the rest of a
// line off the screen.
const maxSpaces = 64

// narrow replaces a long run of spaces by its length.
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
