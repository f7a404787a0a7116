package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/schemas"
)

// Parsed returns the file's content as JSON values.
func (w *Workflow) Parsed() any {
	value, err := ReadYAML(w.File, w.Source)
	if err != nil {
		return nil
	}
	return value
}

// ReadYAML reads one YAML document as JSON values, under the same rules as a
// workflow: no aliases, tags, duplicate keys or second document. The error
// lists every problem with its place.
func ReadYAML(file string, src []byte) (any, error) {
	value, _, err := ReadYAMLPlaces(file, src)
	return value, err
}

// ReadYAMLPlaces is ReadYAML that also returns the places of values, for packages with
// checks of their own.
func ReadYAMLPlaces(file string, src []byte) (any, fault.Places, error) {
	return (&report{file: file}).places(src)
}

// ReadForeignYAML is ReadYAMLPlaces for files of other programs: aliases and merges are
// written out, and tags are left out.
func ReadForeignYAML(file string, src []byte) (any, fault.Places, error) {
	return (&report{file: file, foreign: true}).places(src)
}

func (r *report) places(src []byte) (any, fault.Places, error) {
	root := r.readSource(src)
	if err := r.failure(r.file); err != nil {
		return nil, nil, err
	}
	l := &Layout{parser: parser{report: r}, keys: make(fault.Places, len(src)/16)}
	l.read(root, root, "")
	return valueOf(root), l.keys, nil
}

// ReadYAMLLayout is ReadYAML that also returns the layout of the file, for packages
// whose files hold expressions.
func ReadYAMLLayout(file string, src []byte) (any, *Layout, error) {
	r := &report{file: file}
	root := r.readSource(src)
	if err := r.failure(file); err != nil {
		return nil, nil, err
	}
	return valueOf(root), layoutOf(r, root), nil
}

// Layout has the positions of a file's values by their diagnostic paths.
type Layout struct {
	parser parser
	keys   fault.Places
	values map[string]*yaml.Node // nil: only places are read
}

// Layout reads the workflow's file again. It takes as long as parsing, so call it only
// to report findings.
func (w *Workflow) Layout() *Layout {
	r := &report{file: w.File}
	return layoutOf(r, r.readSource(w.Source))
}

// layoutOf returns the layout of a file whose root is a node; of nil it is empty.
func layoutOf(r *report, root *yaml.Node) *Layout {
	l := &Layout{parser{report: r}, fault.Places{}, map[string]*yaml.Node{}}
	if root != nil {
		l.read(root, root, "")
	}
	return l
}

// read adds a value and all below it; key is the key of a member, else the value.
func (l *Layout) read(key, node *yaml.Node, path string) {
	if _, known := l.keys[path]; !known {
		l.keys[path] = fault.Place{Line: key.Line, Column: key.Column}
	}
	if l.values != nil {
		l.values[path] = node
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			l.read(node.Content[i], node.Content[i+1], join(path, node.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			l.read(item, item, path+"["+strconv.Itoa(i)+"]")
		}
	}
}

// Places are those of all values; do not change them.
func (l *Layout) Places() fault.Places { return l.keys }

// Key returns a diagnostic at the key of a path; for an absent path, at its parent.
func (l *Layout) Key(code fault.Code, path, message string) fault.Diagnostic {
	found := fault.Diagnostic{File: l.parser.file, Path: path, Code: code, Message: message}
	where := l.keys.Around(path)
	found.Line, found.Column = where.Line, where.Column
	return found
}

// Value returns where the value of a path stands, nil for a path that is not there.
func (l *Layout) Value(path string) *Site {
	node := l.values[path]
	if node == nil {
		return nil
	}
	return l.parser.source(node, path, 0)
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

// valueOf converts a checked node to a value of package jsonvalue. Text that YAML would
// read as a date stays text.
func valueOf(node *yaml.Node) any { return valueAs(node, false) }

// valueAs is valueOf; ordered says that maps keep the order of their keys.
func valueAs(node *yaml.Node, ordered bool) any {
	switch node.Kind {
	case yaml.MappingNode:
		object, members := make(map[string]any, len(node.Content)/2), jsonvalue.Object{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			name, value := node.Content[i].Value, valueAs(node.Content[i+1], ordered)
			if object[name] = value; ordered {
				members.Add(name, value)
			}
		}
		if ordered {
			return members
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			list[i] = valueAs(item, ordered)
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
		if i, err := strconv.Atoi(node.Value); err == nil && strconv.Itoa(i) == node.Value {
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

// orderedJSON returns a value in JSON, with the keys of its maps in their order.
func orderedJSON(node *yaml.Node) []byte {
	raw, err := jsonvalue.Encode(valueAs(node, true))
	if err != nil {
		return nil // it is refused where it is read
	}
	return raw
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

// warn notes what YAML reads otherwise than it looks.
func (r *report) warn(path string, at position, format string, args ...any) {
	r.warnings = append(r.warnings, fault.Diagnostic{File: r.file, Path: path, Line: at.line, Column: at.column,
		Code: fault.YAMLSchemaViolation, Severity: "warning", Message: fmt.Sprintf(format, args...)})
}

// cutText warns of a value whose rest YAML took for a comment, and of a path in double quotes
// in which a backslash makes a control character. The place that startsWith looked at last is
// where the value begins.
func (r *report) cutText(node *yaml.Node, at *yamlPath) {
	switch {
	case node.Line < 1 || node.Line > len(r.lines):
	case node.Style == yaml.DoubleQuotedStyle:
		quoted := doubleQuoted().Find(r.lines[node.Line-1][r.offset:])
		if found := escapedPath().FindSubmatchIndex(quoted); found != nil {
			r.warn(at.path(), position{node.Line, node.Column + utf8.RuneCount(quoted[:found[2]])},
				"YAML takes %s in %q for a control character: put a path in single quotes, or write \\\\ for each backslash", quoted[found[4]:found[5]], quoted[found[2]:found[3]])
		}
	case node.Style == 0:
		if line, rest, found := r.after(node); found {
			r.cut(node, at, line, rest)
		}
	}
}

var (
	doubleQuoted = pattern.Lazy(`^"(?:[^"\\]|\\.)*`)
	// escapedPath matches C:\new and ..\build, up to the end of the name.
	escapedPath = pattern.Lazy(`["\s'(=]((?:[A-Za-z]:|\.\.?)(?:\\\\[\w.-]+)*(\\[abefnrtv])[a-z][\w.-]*)`)
)

// cut warns of a comment that begins in the rest of a line and does not look like one.
func (r *report) cut(node *yaml.Node, at *yamlPath, line int, rest []byte) {
	begins := bytes.TrimLeft(rest, " \t")
	if len(begins) == len(rest) || !bytes.HasPrefix(begins, []byte("#")) {
		return
	}
	comment := string(begins)
	if !looksCut(comment) {
		return
	}
	r.warn(at.path(), position{line, 1 + utf8.RuneCount(r.lines[line-1]) - utf8.RuneCountInString(comment)},
		"YAML takes %q for a comment and leaves %s: put the text in quotes, or a space after the #", fault.Cut(comment, 60), leftOf(node))
}

// cutBefore warns of a text that begins, after its key, with what YAML took for a
// comment, and goes on below.
func (r *report) cutBefore(key, node *yaml.Node, at *yamlPath) {
	if node.Kind != yaml.ScalarNode || node.Style != 0 || key.Style != 0 || node.Line <= key.Line || key.Line > len(r.lines) {
		return
	}
	if _, rest, found := bytes.Cut(r.lines[key.Line-1], []byte(key.Value+":")); found {
		r.cut(node, at, key.Line, rest)
	}
}

// cutByComma warns of a text in braces whose rest, behind a comma, YAML took for a key
// without a value.
func (r *report) cutByComma(before, key, value *yaml.Node, at *yamlPath) {
	if value.Tag != "!!null" || value.Value != "" || before.Tag != "!!str" || before.Style != 0 || key.Style != 0 || key.Line > len(r.lines) {
		return
	}
	r.startsWith(key, 0) // moves to where the key begins
	_, rest, found := r.after(key)
	if rest = bytes.TrimLeft(rest, " \t\r"); !found || bytes.HasPrefix(rest, []byte(":")) {
		return
	}
	r.warn(at.path(), positionOf(key), "YAML takes %q behind the comma for a key and leaves %s: put the text in quotes", fault.Cut(key.Value, 60), leftOf(before))
}

func leftOf(node *yaml.Node) string {
	switch node.Tag {
	case "!!null":
		return "null"
	case "!!str":
		return strconv.Quote(fault.Cut(node.Value, 60))
	}
	return fault.Cut(node.Value, 60)
}

// looksCut reports whether what YAML takes for a comment is none to a reader: a word
// follows the # without a space. Lines and frames of signs are comments.
func looksCut(comment string) bool {
	first, _, _ := strings.Cut(strings.Map(func(char rune) rune {
		if unicode.IsSpace(char) {
			return ' '
		}
		return char
	}, comment), " ")
	return strings.HasPrefix(first, "#") && strings.ContainsFunc(first, func(char rune) bool {
		return unicode.IsLetter(char) || unicode.IsDigit(char) || char == '{'
	})
}

// after returns the line on which an unquoted text ends, and what follows it there. A
// text of several lines has spaces where it goes on.
func (r *report) after(node *yaml.Node) (line int, rest []byte, found bool) {
	line, rest = node.Line, r.lines[node.Line-1][r.offset:]
	for words := []byte(node.Value); ; {
		if tail, whole := bytes.CutPrefix(rest, words); whole {
			return line, tail, true
		}
		part := bytes.TrimRight(rest, " \t\r")
		following, begins := bytes.CutPrefix(words, part)
		if !begins || line >= len(r.lines) {
			return 0, nil, false
		}
		words = bytes.TrimLeft(following, " \n")
		rest = bytes.TrimLeft(r.lines[line], " \t")
		line++
	}
}

// ordinary matches what nobody takes for a text: 1.0, 1e3, 1_000, 0x1F.
var ordinary = pattern.Lazy(`^-?(?:(?:0|[1-9][0-9]*)\.0|[0-9](?:\.[0-9]+)?[eE][+-]?[0-9]+|[1-9][0-9]*(?:_[0-9]+)+|0[xob][0-9A-Fa-f_]+)$`)

// losesText warns of an unquoted number that is written in another way than the value
// has, so that it may be meant as a text.
func (r *report) losesText(node *yaml.Node, path string) {
	if node.Style != 0 || node.Tag != "!!int" && node.Tag != "!!float" {
		return
	}
	value, err := jsonvalue.Encode(valueOf(node))
	written := node.Value
	if digits := strings.TrimPrefix(written, "-"); strings.HasPrefix(digits, ".") {
		written = strings.TrimSuffix(written, digits) + "0" + digits
	}
	if err != nil || string(value) == written || ordinary().MatchString(written) {
		return
	}
	r.warn(path, positionOf(node), "%s is a number here and becomes %s: put it in quotes if it is a text", fault.Cut(node.Value, 60), fault.Cut(string(value), 60))
}

// schemaTexts is losesText for the values in a schema, unless it says that they are
// numbers.
func (r *report) schemaTexts(node *yaml.Node, path string) {
	if node.Kind == yaml.SequenceNode {
		for i, item := range node.Content {
			r.schemaTexts(item, path+"["+strconv.Itoa(i)+"]")
		}
		return
	}
	kind := childOf(node, "type")
	numeric := kind != nil && (kind.Value == "number" || kind.Value == "integer")
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		switch below := join(path, key); key {
		case "default", "const", "enum", "examples":
			if !numeric {
				r.valueTexts(value, below)
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			for k := 0; k+1 < len(value.Content); k += 2 {
				r.schemaTexts(value.Content[k+1], join(below, value.Content[k].Value))
			}
		default:
			r.schemaTexts(value, below)
		}
	}
}

// valueTexts is losesText for a value and all below it.
func (r *report) valueTexts(node *yaml.Node, path string) {
	r.losesText(node, path)
	for i, each := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			r.valueTexts(each, path+"["+strconv.Itoa(i)+"]")
		case i%2 == 1:
			r.valueTexts(each, join(path, node.Content[i-1].Value))
		}
	}
}

func (p *parser) schema(node *yaml.Node, at string) *schemas.Schema {
	var schema *schemas.Schema
	var err error
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		schema, err = p.w.set.Lookup(node.Value)
	} else {
		schema, err = p.inline(node)
		p.schemaTexts(node, at)
	}
	if err != nil {
		p.schemaProblem(err, at, node)
	}
	return schema
}

// schemaSource returns a schema in the order in which it is written.
func (p *parser) schemaSource(node *yaml.Node, schema *schemas.Schema) []byte {
	if node.Kind == yaml.ScalarNode {
		return schema.Text()
	}
	return orderedJSON(node)
}

// inline reads a schema that is written out, once for each text.
func (p *parser) inline(node *yaml.Node) (*schemas.Schema, error) {
	value := valueOf(node)
	text, err := jsonvalue.Encode(value)
	if err != nil {
		return p.w.set.Inline(value)
	}
	if known := p.inlined[string(text)]; known != nil {
		return known, nil
	}
	schema, err := p.w.set.Inline(value)
	if err == nil {
		p.inlined[string(text)] = schema
	}
	return schema, err
}
