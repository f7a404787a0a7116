package flow

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/markup"
	"savant/think/flow/expression"
)

// report collects diagnostics while a file is read, so that a person sees all
// its problems at once.
type report struct {
	file        string
	needs       string // what a file of this kind has, for the error of an empty one
	foreign     bool   // it is a file of another program, with aliases, merges and tags
	lines       [][]byte
	diagnostics []fault.Diagnostic
	warnings    []fault.Diagnostic // what YAML reads otherwise than it looks
	// cursor and its offset in the line are where startsWith looked last. Nodes
	// come in the order of the file, so each line is read once.
	cursor position
	offset int
}

// position is a line and a column of the file, both counted from 1.
type position struct{ line, column int }

func positionOf(node *yaml.Node) position { return position{node.Line, node.Column} }

func (r *report) add(code fault.Code, path string, node *yaml.Node, format string, args ...any) {
	r.addAt(code, path, positionOf(node), format, args...)
}

func (r *report) addAt(code fault.Code, path string, at position, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, fault.Diagnostic{File: r.file, Path: path, Line: at.line,
		Column: at.column, Code: code, Message: fmt.Sprintf(format, args...)})
}

// failure returns the diagnostics as one error, in the order of the file, or nil. It
// has the code of the first diagnostic.
func (r *report) failure(name string) error {
	slices.SortStableFunc(r.diagnostics, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return fault.InFile(name, r.diagnostics)
}

// outcome returns the workflow, or what is wrong with its file.
func (r *report) outcome(w *Workflow) (*Workflow, error) {
	err := r.failure(cmp.Or(r.file, "workflow"))
	switch {
	case err == nil:
		w.warnings = r.warnings
		return w, nil
	case slices.ContainsFunc(r.diagnostics, func(d fault.Diagnostic) bool { return !slices.Contains(ofExpressions, d.Code) }):
		return nil, err
	}
	return nil, &Unfinished{w, err}
}

// ofExpressions are the codes of errors in expressions.
var ofExpressions = []fault.Code{fault.ExpressionError, fault.UnresolvedVar, fault.AmbiguousName, fault.TemplateRenderError}

// Unfinished is the error of a file in which only expressions are wrong. The draft is
// the workflow without them, for further checks: it cannot be run.
type Unfinished struct {
	Draft *Workflow
	err   error
}

func (u *Unfinished) Error() string { return u.err.Error() }

// Unwrap returns what is wrong.
func (u *Unfinished) Unwrap() error { return u.err }

// yamlPath is the path of a value: a key or an index below another trail, nil for
// the whole file. Its text is made for a diagnostic only.
type yamlPath struct {
	above *yamlPath
	key   string
	index int // from 1 in a list, 0 for a key
}

// path returns the text of the trail: "steps[2].when".
func (t *yamlPath) path() string {
	switch {
	case t == nil:
		return ""
	case t.index > 0:
		return t.above.path() + "[" + strconv.Itoa(t.index-1) + "]"
	default:
		return join(t.above.path(), t.key)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// source maps offsets in an expression to places in the file. It holds less
// than the node, since a workflow has tens of thousands.
type source struct {
	report     *report
	file, path string
	start      position
	style      yaml.Style
	text       string
	shift      int // of the expression in the text
}

// Site is where a text of a workflow stands.
type Site = source

// Diagnostic returns a diagnostic for the byte of the text at an offset.
func (s *source) Diagnostic(code fault.Code, offset int, message string) fault.Diagnostic {
	return s.diagnostic(&expression.Error{Code: code, Offset: offset, Message: message})
}

func (p *parser) source(node *yaml.Node, at string, shift int) *source {
	return &source{report: p.report, file: p.file, path: at, start: positionOf(node), style: node.Style, text: node.Value, shift: shift}
}

// positionAt converts a byte offset of the expression to a position in the file. For folded
// text it is the start of the scalar.
func (s *source) positionAt(offset int) position {
	offset = max(0, min(offset+s.shift, len(s.text)))
	before := s.text[:offset]
	column := s.start.column + utf8.RuneCountInString(before)
	switch {
	case s.style&yaml.LiteralStyle != 0:
		line := s.start.line + 1 + strings.Count(before, "\n")
		return position{line, s.report.indent(line) + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
	case s.style&yaml.FoldedStyle != 0 || strings.Contains(s.text, "\n"):
		return s.start
	case s.style&yaml.SingleQuotedStyle != 0: // which writes ' twice
		return position{s.start.line, column + 1 + strings.Count(before, "'")}
	case s.style&yaml.DoubleQuotedStyle != 0:
		return position{s.start.line, column + 1}
	default:
		return position{s.start.line, column}
	}
}

func (r *report) indent(line int) int {
	if line < 1 || line > len(r.lines) {
		return 0
	}
	text := r.lines[line-1]
	return len(text) - len(bytes.TrimLeft(text, " "))
}

// diagnostic turns an expression's error into one with a place in the file.
func (s *source) diagnostic(err error) fault.Diagnostic {
	var problem *expression.Error
	if !errors.As(err, &problem) {
		return fault.Diagnostic{File: s.file, Path: s.path, Code: fault.Internal, Message: err.Error()}
	}
	at := s.positionAt(problem.Offset)
	return fault.Diagnostic{File: s.file, Path: s.path, Line: at.line, Column: at.column,
		Code: problem.Code, Message: problem.Message}
}

// failure is diagnostic as an error.
func (s *source) failure(err error) *fault.Error {
	d := s.diagnostic(err)
	return fault.New(d.Code, "%s:%d:%d: %s: %s", s.file, d.Line, d.Column, s.path, d.Message).With(d)
}

// Quote is the place of a document that a step carries out, word for word.
type Quote struct {
	// File is relative to the project, Line counts from 1; 0 where the file does not say.
	File string
	Line int
	Text string

	at position
}

// Bounds of a quote.
const (
	maxQuote     = 4000
	maxQuoteLine = 10_000_000
)

// documents are the endings of files that can be quoted: documents of procedures. Others could
// hold secrets, and whether a quote stands in a file says something of it.
var documents = []string{".md", ".markdown", ".mdx", ".txt", ".rst", ".yaml", ".yml", ".mmd", ".mermaid", ".dot", ".gv"}

// isBelow reports whether a path stays below the project.
func isBelow(file string) bool {
	return path.Clean(file) == file && !path.IsAbs(file) && file != ".." && !strings.HasPrefix(file, "../") && !strings.Contains(file, "\\")
}

// quote reads where a step comes from.
func (p *parser) quote(s *Step, node *yaml.Node) {
	at := s.path + ".source"
	keys, ok := p.mapping(node, at, quoteKeys)
	if !ok {
		return
	}
	found := Quote{File: p.text(keys, "file", at), Text: p.text(keys, "quote", at), at: positionOf(node)}
	p.integer(keys, "line", at, 1, maxQuoteLine, &found.Line)
	switch {
	case found.File == "" || strings.TrimSpace(found.Text) == "":
		p.add(fault.YAMLSchemaViolation, at, node, "source is {file, line, quote}: the document that the step carries out, and its words")
	case !isBelow(found.File) || !slices.Contains(documents, strings.ToLower(path.Ext(found.File))):
		p.add(fault.YAMLSchemaViolation, at+".file", node, "source.file is a document below the project, relative to it, with one of the endings %s", strings.Join(documents, " "))
	case len(found.Text) > maxQuote:
		p.add(fault.YAMLSchemaViolation, at+".quote", node, "a quote has at most %d bytes", maxQuote)
	default:
		s.Source = &found
	}
}

// Stands reports whether the words of the quote stand in a document, wherever lines break,
// also in lines that Markdown marks as cited.
func (q *Quote) Stands(document string) bool {
	return strings.Contains(markup.Words(document), markup.Words(q.Text))
}

// Misquoted returns the warning for a step whose quote stands nowhere in its document.
func (w *Workflow) Misquoted(s *Step) fault.Diagnostic {
	return fault.Diagnostic{File: w.File, Path: s.path + ".source", Line: s.Source.at.line, Column: s.Source.at.column, Code: fault.ValidationFailed,
		Message: "the quote of step \"" + s.ID + "\" does not stand in " + s.Source.File + ": the document changed, or it is not below the project"}
}
