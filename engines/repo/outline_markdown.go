package repo

import (
	"fmt"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

// The two forms of headings (CommonMark 0.31, 4.2 and 4.3). Only a single line of plain
// text can be underlined.
var (
	heading   = pattern.Lazy(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`)
	underline = pattern.Lazy(`^ {0,3}(=+|-{2,})\s*$`)
	paragraph = pattern.Lazy(`^ {0,3}[^\s#>|=*+-]`)
)

// headings lists Markdown headings; the kind is the level. It skips fenced code and
// YAML front matter.
func headings(source string) []definition {
	h := headingReader{found: []definition{}, yaml: strings.HasPrefix(source, "---") && strings.Contains(source[3:], "\n---")}
	for line := range strings.Lines(source) {
		h.number++
		h.line(strings.TrimRight(line, "\r\n"))
	}
	return h.found
}

// headingReader reads Markdown line by line.
type headingReader struct {
	found  []definition
	number int    // of the line, from 1
	yaml   bool   // there is YAML front matter, up to its end line
	fence  string // the end of the current fence or front matter, or ""
	before string // the previous line, if it may be underlined
}

func (h *headingReader) line(line string) {
	before := h.before
	h.before = ""
	if h.fenced(strings.TrimSpace(line)) {
		return
	}
	if match := heading().FindStringSubmatch(line); match != nil && match[2] != "" {
		h.add(match[2], len(match[1]), h.number, line)
		return
	}
	if match := underline().FindStringSubmatch(line); match != nil && before != "" {
		level := 1
		if match[1][0] == '-' {
			level = 2
		}
		h.add(strings.TrimSpace(before), level, h.number-1, before)
		return
	}
	if paragraph().MatchString(line) {
		h.before = line
	}
}

// fenced reports whether a trimmed line belongs to a fence or front matter.
func (h *headingReader) fenced(line string) bool {
	switch mark := fenceOf(line); {
	case h.yaml && h.number == 1 && line == "---":
		h.fence = line
	case h.fence == "---":
		if line == h.fence {
			h.fence = ""
		}
	case mark == "" || h.fence != "" && !strings.HasPrefix(mark, h.fence):
		return h.fence != ""
	case h.fence == "":
		h.fence = mark
	case line == mark: // an ending fence has no further text
		h.fence = ""
	}
	return true
}

func (h *headingReader) add(name string, level, number int, line string) {
	h.found = append(h.found, definition{Name: fault.Cut(name, maxSignature), Kind: fmt.Sprintf("h%d", level), Line: number,
		Signature: fault.Cut(strings.TrimSpace(line), maxSignature)})
}

// fenceOf returns the three or more backticks or tildes at the start of a line.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}
