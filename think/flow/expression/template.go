package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Text is a string that may hold {{ }} expressions. It is immutable and safe for
// concurrent use.
type Text struct {
	parts []templatePart
	whole bool // one expression and nothing else: it keeps its type
}

// templatePart is either literal words or an expression.
type templatePart struct {
	words   string
	program *Program
	offset  int // of the expression in the source
}

// CompileText compiles a string with expressions in {{ }}. A }} without {{ is
// text; {{ as text is written {{ "{{" }}. Errors are those of Compile, with
// offsets into the whole string.
func CompileText(source string, scope Scope) (*Text, error) {
	text := &Text{}
	if inner, offset := Unwrap(source); offset > 0 {
		if err := text.add(inner, offset, scope); err != nil && swallows(inner) {
			return nil, unclosed(source[offset:], offset)
		} else if err != nil {
			return nil, err
		}
		text.whole = true
		return text, nil
	}
	var wrong []error
	for at := 0; at < len(source); {
		open := strings.Index(source[at:], opening)
		if open < 0 {
			text.parts = append(text.parts, templatePart{words: source[at:]})
			break
		}
		start := at + open + len(opening)
		length, found := expressionEnd(source[start:])
		if !found {
			wrong = append(wrong, unclosed(source[start:], start))
			break
		}
		text.parts = append(text.parts, templatePart{words: source[at : start-len(opening)]})
		inner := source[start : start+length]
		if err := text.add(inner, start, scope); err != nil && swallows(inner) {
			wrong = append(wrong, unclosed(source[start:], start))
			break // what follows begins within a text
		} else if err != nil {
			wrong = append(wrong, err)
		}
		at = start + length + len(closing)
	}
	switch len(wrong) {
	case 0:
		return text, nil
	case 1:
		return nil, wrong[0]
	}
	return nil, errors.Join(wrong...)
}

// ErrorsOf returns the errors of CompileText one by one: each broken expression has one.
func ErrorsOf(err error) []error {
	if several, joined := err.(interface{ Unwrap() []error }); joined {
		return several.Unwrap()
	}
	return []error{err}
}

// add compiles one expression of the text.
func (t *Text) add(source string, offset int, scope Scope) error {
	program, err := Compile(source, scope)
	if err != nil {
		return shiftError(err, offset)
	}
	t.parts = append(t.parts, templatePart{program: program, offset: offset})
	return nil
}

// swallows reports whether an expression has the end of one and the beginning of another, as
// where a quote is closed by one of a later expression.
func swallows(inner string) bool {
	_, rest, ends := strings.Cut(inner, closing)
	return ends && strings.Contains(rest, opening)
}

// unclosed is the error of a {{ without }}. offset is the end of the {{.
func unclosed(rest string, offset int) *Error {
	message := "{{ is not closed by }}"
	if strings.Contains(rest, closing) {
		message += ": a quote or a brace in it is not closed"
	}
	message += `; as text it is written {{ "{{" }}`
	return invalid(offset-len(opening), message)
}

// shiftError adds an offset to the place of an error.
func shiftError(err error, offset int) error {
	var inner *Error
	if errors.As(err, &inner) {
		moved := *inner
		moved.Offset += offset
		return &moved
	}
	return err
}

// Part is one expression of a Text, and the byte of the text at which it begins.
type Part struct {
	Program *Program
	Offset  int
}

// Parts returns the expressions of the text in their order. whole says that the text
// is one expression and nothing else, whose value it gives.
func (t *Text) Parts() (parts []Part, whole bool) {
	for _, p := range t.parts {
		if p.program != nil {
			parts = append(parts, Part{p.program, p.offset})
		}
	}
	return parts, t.whole
}

// References returns what the expressions read, each root and name once, in
// the order of the text. A name read both ways is a hard read.
func (t *Text) References() []Reference {
	var all []Reference
	for _, p := range t.parts {
		if p.program == nil {
			continue
		}
		for _, reference := range p.program.references {
			reference.Offset += p.offset
			all = append(all, reference)
		}
	}
	return distinct(all)
}

// Absent is Program.Absent for the first expression of the text that reads such a
// capture.
func (t *Text) Absent(env Env) string {
	for _, p := range t.parts {
		if p.program != nil {
			if name := p.program.Absent(env); name != "" {
				return name
			}
		}
	}
	return ""
}

// Render evaluates the expressions of the text. It does not expand {{ }} inside their
// values. A text that consists of one {{ }}, possibly surrounded by white space,
// returns the value itself; in other texts a string is inserted verbatim and any other
// value as JSON. Errors are *Error: EXPRESSION_ERROR with offsets into the whole text,
// TEMPLATE_RENDER_ERROR for more than 1 MiB.
func (t *Text) Render(env Env) (any, error) {
	if t.whole {
		value, err := t.parts[0].program.Eval(env)
		return value, shiftError(err, t.parts[0].offset)
	}
	var rendered strings.Builder
	for _, p := range t.parts {
		words, err := p.render(env)
		if err != nil {
			return nil, err
		}
		if p.program != nil && rendered.Len()+len(words) > maxText {
			return nil, &Error{Code: fault.TemplateRenderError, Offset: p.offset,
				Message: fmt.Sprintf("the text becomes longer than %d bytes", maxText)}
		}
		rendered.WriteString(words)
	}
	return rendered.String(), nil
}

func (p templatePart) render(env Env) (string, error) {
	if p.program == nil {
		return p.words, nil
	}
	value, err := p.program.Eval(env)
	if err != nil {
		return "", shiftError(err, p.offset)
	}
	if words, ok := value.(string); ok {
		return words, nil
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return "", invalid(p.offset, "the value cannot be written as JSON")
	}
	return string(data), nil
}

const (
	opening = "{{"
	closing = "}}"
)

// expressionEnd returns where the expression at the beginning of a text ends:
// the offset of its }}. Quotes and the braces of objects are part of it.
func expressionEnd(text string) (end int, found bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch char := text[i]; char {
		case '"', '\'', '`':
			length, closed := literalLength(text[i:])
			if !closed {
				return 0, false
			}
			i += length - 1
		case '{':
			depth++
		case '}':
			if depth > 0 {
				depth--
			} else {
				return i, strings.HasPrefix(text[i:], closing)
			}
		}
	}
	return 0, false
}

// literalLength returns the length of the string literal at the beginning of a text.
func literalLength(text string) (length int, closed bool) {
	mark := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && mark != '`':
			i++
		case text[i] == mark:
			return i + 1, true
		}
	}
	return 0, false
}

// Unwrap returns the expression of a source that consists of one {{ }}, and its byte
// offset. Any other source is returned unchanged, with offset 0. when and foreach
// accept an expression with and without {{ }}.
func Unwrap(source string) (inner string, offset int) {
	start := len(source) - len(strings.TrimLeft(source, " \t\r\n"))
	body, ok := strings.CutPrefix(source[start:], opening)
	if !ok {
		return source, 0
	}
	end, found := expressionEnd(body)
	if !found || strings.TrimSpace(body[end+len(closing):]) != "" {
		return source, 0
	}
	return body[:end], start + len(opening)
}

// Ordered returns a value that the text gave, with the members of the objects that its
// expression writes out in the order in which it does.
func (t *Text) Ordered(value any) any {
	if !t.whole {
		return value
	}
	tree, err := parser.ParseWithConfig(t.parts[0].program.source, newConfig(Scope{}.scale()))
	if err != nil {
		return value
	}
	out, _ := asWritten(tree.Node, value)
	return out
}

// asWritten is Ordered for an expression; false if it does not write this value.
func asWritten(node ast.Node, value any) (any, bool) {
	switch n := node.(type) {
	case *ast.MapNode:
		object, is := value.(map[string]any)
		if !is || len(object) != len(n.Pairs) {
			return value, false
		}
		out, whole := make(jsonvalue.Object, 0, len(object)), true
		for _, each := range n.Pairs {
			pair, _ := each.(*ast.PairNode)
			key, is := pair.Key.(*ast.StringNode)
			if !is {
				return value, false
			}
			member, has := object[key.Value]
			if !has {
				return value, false
			}
			member, wrote := asWritten(pair.Value, member)
			out.Add(key.Value, member)
			whole = whole && wrote
		}
		return out, whole
	case *ast.ArrayNode:
		list, is := value.([]any)
		if !is || len(list) != len(n.Nodes) {
			return value, false
		}
		out, whole := make([]any, len(list)), true
		for i, each := range n.Nodes {
			member, wrote := asWritten(each, list[i])
			out[i], whole = member, whole && wrote
		}
		return out, whole
	case *ast.ConditionalNode:
		if out, wrote := asWritten(n.Exp1, value); wrote {
			return out, true
		}
		return asWritten(n.Exp2, value)
	case *ast.StringNode:
		return value, value == n.Value
	}
	return value, true
}
