package configedit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"

	"savant/fault"
)

// insert appends an item to an object or an array, on a separate line if the other
// items have one. name is nil for an element.
func insert(text []byte, in hujson.Value, name *string, value any) ([]byte, error) {
	list, ok := items(in)
	if !ok {
		return nil, misplaced(text, in, nil, "an object")
	}
	open, closing, nl := in.StartOffset, in.EndOffset-1, newline(text)
	outer := lineIndent(text, open)
	inner, lines := outer+indentUnit(text), true
	if len(list) > 0 {
		lines = bytes.IndexByte(text[open:list[0].start], '\n') >= 0
		if lines {
			inner = lineIndent(text, list[0].start)
		}
	}
	written, err := render(text, value, inner, lines)
	if err != nil {
		return nil, err
	}
	if name != nil {
		key, err := render(text, *name, "", false)
		if err != nil {
			return nil, err
		}
		written = key + ": " + written
	}
	end := len(bytes.TrimRight(text[:closing], " \t\r\n"))
	if len(list) == 0 {
		return splice(text, end, closing, nl+inner+written+nl+outer), nil
	}
	last := list[len(list)-1].end
	if comma := skipExtra(text, last); text[comma] == ',' { // a trailing comma
		if lines {
			return splice(text, end, end, nl+inner+written+","), nil
		}
		return splice(text, comma+1, comma+1, " "+written+","), nil
	}
	if !lines {
		return splice(text, last, last, ", "+written), nil
	}
	return splice(splice(text, end, end, nl+inner+written), last, last, ","), nil
}

// cut removes an item with its comma and line end.
func cut(text []byte, in hujson.Value, i int) []byte {
	list, _ := items(in)
	it := list[i]
	start := len(bytes.TrimRight(text[:it.start], " \t\r\n"))
	after := skipExtra(text, it.end)
	behind := it.end
	if text[after] == ',' {
		behind = after + 1
	}
	if inComment(text[it.before:start]) && bytes.TrimLeft(text[behind:], " \t\r")[0] != '\n' {
		start = it.start // else what is behind would get into the comment
	}
	switch {
	case len(list) == 1 && onlySpace(text[in.StartOffset+1:it.start]) && onlySpace(bytes.Replace(text[it.end:in.EndOffset-1], []byte(","), nil, 1)):
		return splice(text, in.StartOffset+1, in.EndOffset-1, "")
	case i > 0 && behind == it.end: // the last one: also remove the comma before it
		comma := skipExtra(text, list[i-1].end)
		return splice(splice(text, max(start, comma+1), it.end, ""), comma, comma+1, "")
	}
	return splice(text, start, behind, "")
}

// inComment reports whether what follows white space and comments would be in a comment.
func inComment(extra []byte) bool { return skipExtra(append(bytes.Clone(extra), 'x'), 0) > len(extra) }

func onlySpace(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// skipExtra returns the offset after white space and comments.
func skipExtra(text []byte, at int) int {
	for at < len(text) {
		rest := text[at:]
		switch {
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n':
			at++
		case bytes.HasPrefix(rest, []byte("//")):
			line := bytes.IndexByte(rest, '\n')
			if line < 0 {
				return len(text)
			}
			at += line
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return len(text)
			}
			at += end + 4
		default:
			return at
		}
	}
	return at
}

// isDeep reports whether objects and arrays are nested deeper than maxDepth.
func isDeep(text []byte) bool {
	depth := 0
	for at := skipExtra(text, 0); at < len(text); at = skipExtra(text, at+1) {
		switch text[at] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}

// lineIndent is the indentation of the line at an offset.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentUnit is the first indentation of the text, else two spaces.
func indentUnit(text []byte) string {
	for line := range bytes.Lines(text) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if len(indent) > 0 && !onlySpace(line) {
			return string(indent)
		}
	}
	return "  "
}

// render encodes a value on one line, or on several with an indentation.
func render(text []byte, value any, indent string, lines bool) (string, error) {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if lines {
		encoder.SetIndent(indent, indentUnit(text))
	}
	if err := encoder.Encode(value); err != nil {
		return "", fault.New(fault.Internal, "encode an entry: %w", err)
	}
	return strings.ReplaceAll(strings.TrimSuffix(written.String(), "\n"), "\n", newline(text)), nil
}
