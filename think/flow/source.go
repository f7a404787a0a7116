package flow

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/think/flow/expression"
)

// source maps offsets in an expression to places in the file. It holds less
// than the node, since a workflow has tens of thousands.
type source struct {
	report     *report
	file, path string
	start      place
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
	return &source{report: p.report, file: p.file, path: at, start: placeOf(node), style: node.Style, text: node.Value, shift: shift}
}

// at converts a byte offset of the expression to a position in the file. For folded
// text it is the start of the scalar.
func (s *source) at(offset int) place {
	offset = max(0, min(offset+s.shift, len(s.text)))
	before := s.text[:offset]
	column := s.start.column + utf8.RuneCountInString(before)
	switch {
	case s.style&yaml.LiteralStyle != 0:
		line := s.start.line + 1 + strings.Count(before, "\n")
		return place{line, s.report.indent(line) + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
	case s.style&yaml.FoldedStyle != 0 || strings.Contains(s.text, "\n"):
		return s.start
	case s.style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return place{s.start.line, column + 1}
	default:
		return place{s.start.line, column}
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
	at := s.at(problem.Offset)
	return fault.Diagnostic{File: s.file, Path: s.path, Line: at.line, Column: at.column,
		Code: problem.Code, Message: problem.Message}
}

// failure is diagnostic as an error.
func (s *source) failure(err error) *fault.Error {
	d := s.diagnostic(err)
	return fault.New(d.Code, "%s:%d:%d: %s: %s", s.file, d.Line, d.Column, s.path, d.Message).With(d)
}
