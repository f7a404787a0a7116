package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/pattern"
)

// Bounds of a workflow file. They are far above any real workflow and far
// below what exhausts memory: a 1 MB scalar with 1,000 aliases is 1 GB as JSON
// (measured on yaml.v3 v3.0.1), hence no aliases at all.
const (
	maxSource = 4 << 20
	maxNodes  = 400_000
	maxDepth  = 40
)

// report collects diagnostics while a file is read, so that a person sees all
// that is wrong with it at once.
type report struct {
	file        string
	needs       string // what a file of this kind has, said of an empty one
	lines       [][]byte
	diagnostics []fault.Diagnostic
	// cursor and its offset in the line are where startsWith looked last:
	// nodes come in the order of the file, so a long line is read once.
	cursor place
	offset int
}

func (r *report) add(code fault.Code, path string, node *yaml.Node, format string, args ...any) {
	r.addAt(code, path, place{node.Line, node.Column}, format, args...)
}

func (r *report) addAt(code fault.Code, path string, at place, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, fault.Diagnostic{File: r.file, Path: path, Line: at.line,
		Column: at.column, Code: code, Message: fmt.Sprintf(format, args...)})
}

// failure returns what was reported as one error, in the order of the file, or
// nil. The code is that of the first diagnostic.
func (r *report) failure(name string) error {
	if len(r.diagnostics) == 0 {
		return nil
	}
	sortDiagnostics(r.diagnostics)
	first := r.diagnostics[0]
	err := fault.New(first.Code, "%s: %d:%d: %s", name, first.Line, first.Column, first.Message)
	if more := len(r.diagnostics) - 1; more > 0 {
		err.Details += fmt.Sprintf(" (and %d more)", more)
	}
	return err.With(r.diagnostics...)
}

// place is where something stands in the file, counted from 1.
type place struct{ line, column int }

var yamlLine = pattern.Lazy(`line (\d+): `)

// readSource turns the bytes of a file into one YAML tree that holds nothing
// but what JSON can say: no anchors, aliases, merges, tags, duplicate or
// non-string keys, no second document.
func (r *report) readSource(src []byte) *yaml.Node {
	if len(src) > maxSource {
		r.addAt(fault.LimitExceeded, "", place{1, 1}, "the file has %d bytes; at most %d are read", len(src), maxSource)
		return nil
	}
	if at := invalidUTF8(src); at >= 0 {
		line := bytes.Count(src[:at], []byte("\n")) + 1
		r.addAt(fault.YAMLSchemaViolation, "", place{line, at - bytes.LastIndexByte(src[:at], '\n')},
			"not UTF-8 text; save the file as UTF-8")
		return nil
	}
	r.lines = bytes.Split(src, []byte("\n"))
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		r.syntax(err)
		return nil
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			r.syntax(err)
		} else {
			r.add(fault.YAMLSchemaViolation, "", &second, "a second document; a file holds one: remove `---` or use two files")
		}
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		r.addAt(fault.YAMLSchemaViolation, "", place{1, 1}, "the file is empty%s", r.needs)
		return nil
	}
	before := len(r.diagnostics)
	count := 0
	r.checkNode(document.Content[0], nil, 0, &count)
	if len(r.diagnostics) > before {
		return nil
	}
	return document.Content[0]
}

func invalidUTF8(src []byte) int {
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		return 0
	}
	for i := 0; i < len(src); {
		if src[i] == 0 {
			return i
		}
		if src[i] < utf8.RuneSelf {
			i++
			continue
		}
		size := 0
		if c, n := utf8.DecodeRune(src[i:]); c == utf8.RuneError && n == 1 {
			return i
		} else {
			size = n
		}
		i += size
	}
	return -1
}

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
	switch {
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

// unknownAnchor matches the one message that names no line.
var unknownAnchor = pattern.Lazy(`^unknown anchor '(.*)' referenced`)

// lineOf returns the first line that holds a text, or 1.
func (r *report) lineOf(text string) int {
	return 1 + max(0, slices.IndexFunc(r.lines, func(line []byte) bool { return bytes.Contains(line, []byte(text)) }))
}

// parserError says whether a message is of yaml.v3's parser, whose lines count
// from 0 where those of its scanner count from 1 (measured on v3.0.1).
func parserError(text string) bool {
	for _, expected := range []string{"key", "node content", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>"} {
		if text == "did not find expected "+expected {
			return true
		}
	}
	return false
}

func (r *report) indent(line int) int {
	if line < 1 || line > len(r.lines) {
		return 0
	}
	text := r.lines[line-1]
	return len(text) - len(bytes.TrimLeft(text, " "))
}

// trail is where a value stands in the file: a key or an index below another
// trail, nil for the whole. Its path is written out for a diagnostic only.
type trail struct {
	above *trail
	key   string
	index int // from 1 in a list, 0 for a key
}

// path returns the trail as diagnostics show it: "steps[2].when".
func (t *trail) path() string {
	switch {
	case t == nil:
		return ""
	case t.index > 0:
		return t.above.path() + "[" + strconv.Itoa(t.index-1) + "]"
	default:
		return join(t.above.path(), t.key)
	}
}

func (r *report) checkNode(node *yaml.Node, at *trail, depth int, count *int) {
	*count++
	switch {
	case *count > maxNodes:
		if *count == maxNodes+1 {
			r.add(fault.LimitExceeded, at.path(), node, "more than %d values in one file", maxNodes)
		}
		return
	case depth > maxDepth:
		r.add(fault.LimitExceeded, at.path(), node, "nested deeper than %d", maxDepth)
		return
	case node.Kind == yaml.AliasNode:
		r.add(fault.YAMLSchemaViolation, at.path(), node, "aliases are not part of the language: write the value out, or quote a text that starts with *")
		return
	case node.Anchor != "":
		r.add(fault.YAMLSchemaViolation, at.path(), node, "anchors are not part of the language: remove &%s, or quote a text that starts with &", node.Anchor)
		return
	case node.Style&yaml.TaggedStyle != 0:
		r.tag(at, node, strings.TrimSpace(node.Tag+" "+node.Value))
		return
	case r.startsWith(node, '!'): // a tag without a name leaves no other trace
		r.tag(at, node, "! "+node.Value)
		return
	}
	switch node.Kind {
	case yaml.MappingNode:
		r.checkMapping(node, at, depth, count)
	case yaml.SequenceNode:
		for i, item := range node.Content {
			r.checkNode(item, &trail{above: at, index: i + 1}, depth+1, count)
		}
	case yaml.ScalarNode:
		if notANumber(node) {
			r.add(fault.YAMLSchemaViolation, at.path(), node, "%s is not a JSON number; quote it if it is text", fault.Cut(node.Value, 80))
		}
	}
}

func (r *report) tag(at *trail, node *yaml.Node, written string) {
	r.add(fault.YAMLSchemaViolation, at.path(), node, "an unquoted ! is a YAML tag and its text is lost: write it quoted, %q", fault.Cut(written, 80))
}

// startsWith says whether a node's text in the file begins with a character.
func (r *report) startsWith(node *yaml.Node, first byte) bool {
	if node.Line < 1 || node.Line > len(r.lines) {
		return false
	}
	line := r.lines[node.Line-1]
	if r.cursor.line != node.Line || r.cursor.column > node.Column {
		r.cursor, r.offset = place{node.Line, 1}, 0
	}
	for ; r.cursor.column < node.Column && r.offset < len(line); r.cursor.column++ {
		_, size := utf8.DecodeRune(line[r.offset:])
		r.offset += size
	}
	return r.offset < len(line) && line[r.offset] == first
}

func (r *report) checkMapping(node *yaml.Node, at *trail, depth int, count *int) {
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Style&yaml.TaggedStyle != 0 || key.Anchor != "" {
			fix := "a key must be plain text"
			if key.Kind == yaml.MappingNode {
				fix = "an unquoted {{ }} is a YAML map: put the template in quotes"
			}
			r.add(fault.YAMLSchemaViolation, at.path(), key, "%s", fix)
			continue
		}
		if line, taken := seen[key.Value]; taken {
			r.add(fault.YAMLSchemaViolation, join(at.path(), key.Value), key, "duplicate key %q, first on line %d: remove one", fault.Cut(key.Value, 80), line)
			continue
		}
		seen[key.Value] = key.Line
		if key.Tag != "!!str" && ofStep(at.path()) {
			r.add(fault.YAMLSchemaViolation, at.path(), key, "the key %s is not text: quote it", key.Value)
		}
		r.checkNode(value, &trail{above: at, key: key.Value}, depth+1, count)
	}
}

// ofStep says whether a path is that of a step, not of a part of one.
func ofStep(path string) bool {
	return strings.HasPrefix(path, "steps[") && strings.Count(path, ".") == 0
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// notANumber reports an unquoted number that JSON cannot hold: .inf, .nan, and
// one beyond the range of a float, which YAML would silently read as text.
func notANumber(node *yaml.Node) bool {
	switch {
	case node.Tag == "!!float":
		_, err := floatValue(node.Value)
		return err != nil
	case node.Tag == "!!str" && node.Style == 0 && node.Value != "" && strings.IndexByte("+-.0123456789", node.Value[0]) >= 0:
		_, err := floatValue(node.Value)
		return errors.Is(err, strconv.ErrRange)
	}
	return false
}

func floatValue(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil {
		return 0, err
	}
	if f-f != 0 { // infinite or not a number
		return 0, errors.New("not finite")
	}
	return f, nil
}

// decimal matches an integer as JSON writes it.
var decimal = pattern.Lazy(`^-?[1-9][0-9]{0,300}$`)

// valueOf returns what a checked node says, in the forms of jsonvalue. Text
// that YAML would read as a date stays text.
func valueOf(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			object[node.Content[i].Value] = valueOf(node.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			list[i] = valueOf(item)
		}
		return list
	}
	switch node.Tag {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if node.Decode(&b) == nil {
			return b
		}
	case "!!int":
		if i, err := strconv.Atoi(node.Value); err == nil && plainInteger(node.Value) {
			return i
		}
		var i int
		if node.Decode(&i) == nil {
			return i
		}
		return numberValue(node.Value)
	case "!!float": // an integer beyond 64 bits as well
		return numberValue(node.Value)
	}
	return node.Value
}

// numberValue returns a number beyond the integers of Go: one that is written
// as JSON writes integers stays exact, as in a JSON result.
func numberValue(text string) any {
	if decimal().MatchString(text) {
		return json.Number(text)
	}
	if f, err := floatValue(text); err == nil {
		return f
	}
	return text
}

// plainInteger says whether text begins as an integer does that YAML and Go
// read alike.
func plainInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return text == "0" || digits != "" && digits[0] >= '1' && digits[0] <= '9'
}

// at returns where byte offset of a scalar's text stands in the file. For
// folded text it is the start of the scalar.
func (r *report) at(node *yaml.Node, offset int) place {
	text := node.Value
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	switch {
	case node.Style&yaml.LiteralStyle != 0:
		line := node.Line + 1 + strings.Count(before, "\n")
		column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
		return place{line, r.indent(line) + column + 1}
	case node.Style&(yaml.FoldedStyle) != 0 || strings.Contains(text, "\n"):
		return place{node.Line, node.Column}
	case node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return place{node.Line, node.Column + 1 + utf8.RuneCountInString(before)}
	default:
		return place{node.Line, node.Column + utf8.RuneCountInString(before)}
	}
}
