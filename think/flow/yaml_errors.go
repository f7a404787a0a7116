package flow

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

var yamlLine = pattern.Lazy(`line (\d+): `)

// syntax reports an error of the YAML parser, which names lines in its text.
func (r *report) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.addAt(fault.YAMLSchemaViolation, "", place{1, 1}, "the file is empty%s", r.needs)
		return
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := place{1, 1}
	if match := yamlLine().FindStringSubmatchIndex(text); match != nil {
		at.line, _ = strconv.Atoi(text[match[2]:match[3]])
		text = text[:match[0]] + text[match[1]:]
	}
	if parserError(text) {
		at.line++
	}
	if match := unknownAnchor().FindStringSubmatch(text); match != nil {
		at.line = r.lineOf("*" + match[1])
	}
	at.line = min(at.line, max(1, len(r.lines)))
	at.column = r.indent(at.line) + 1
	fix := ""
	switch opened := r.openQuote(); {
	case opened > 0 && (parserError(text) || strings.Contains(text, "unexpected end of stream") || opened <= at.line):
		at.line, at.column = opened, r.indent(opened)+1
		fix = "; a quote that opens on this line is not closed"
	case strings.Contains(text, "mapping values are not allowed"):
		fix = "; quote a value that contains `: `"
	case strings.Contains(text, "cannot start any token"), strings.Contains(text, "found character"), strings.Contains(text, "tab character"):
		fix = "; quote the value, and indent with spaces"
	case strings.Contains(text, "did not find expected"):
		fix = "; quote a value that starts with a special character such as { [ & * ! | > % @ `"
	case strings.Contains(text, "unknown anchor"):
		fix = "; anchors and aliases are not part of the language: write the value out, or quote a text that starts with *"
	}
	r.addAt(fault.YAMLSchemaViolation, "", at, "%s%s", fault.Cut(text, 300), fix)
}

// opensQuote matches where a quoted value begins.
var opensQuote = pattern.Lazy(`(?:^|[:,\-\[{])\s*(["'])`)

// openQuote returns the line of the first unterminated quoted value, or 0. It is only
// used for a file that does not parse.
func (r *report) openQuote() int {
	for at := 0; at < len(r.lines); at++ {
		quote, open := openedOn(string(r.lines[at]))
		if !open {
			continue
		}
		end := at + 1
		for end < len(r.lines) && !bytes.Contains(r.lines[end], []byte(quote)) {
			end++
		}
		if end == len(r.lines) {
			return at + 1
		}
		line := string(r.lines[end])
		if begins := opensQuote().FindStringSubmatchIndex(line); begins != nil && begins[2] == strings.Index(line, quote) && strings.TrimSpace(line) != quote {
			return at + 1
		}
		at = end // a text of several lines
	}
	return 0
}

// openedOn returns the quote that is open at the end of a line.
func openedOn(line string) (quote string, open bool) {
	for {
		begins := opensQuote().FindStringSubmatchIndex(line)
		if begins == nil {
			return "", false
		}
		if comment := strings.Index(line, " #"); comment >= 0 && comment < begins[2] {
			return "", false
		}
		quote = line[begins[2]:begins[3]]
		rest := line[begins[3]:]
		if quote == `"` {
			rest = strings.ReplaceAll(strings.ReplaceAll(rest, `\\`, "__"), `\"`, "__")
		} else {
			rest = strings.ReplaceAll(rest, `''`, "__")
		}
		end := strings.Index(rest, quote)
		if end < 0 {
			return quote, true
		}
		line = rest[end+1:]
	}
}

// unknownAnchor matches the one message that names no line.
var unknownAnchor = pattern.Lazy(`^unknown anchor '(.*)' referenced`)

// lineOf returns the first line that holds a text, or 1.
func (r *report) lineOf(text string) int {
	return 1 + max(0, slices.IndexFunc(r.lines, func(line []byte) bool { return bytes.Contains(line, []byte(text)) }))
}

// parserError reports whether a message comes from yaml.v3's parser, which counts lines
// from 0; its scanner counts from 1 (measured on v3.0.1).
func parserError(text string) bool {
	for _, expected := range []string{"key", "node content", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>"} {
		if text == "did not find expected "+expected {
			return true
		}
	}
	return false
}
