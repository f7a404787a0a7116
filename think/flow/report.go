package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"savant/fault"
)

// report collects diagnostics while a file is read, so that a person sees all
// its problems at once.
type report struct {
	file        string
	needs       string // what a file of this kind has, for the error of an empty one
	lines       [][]byte
	diagnostics []fault.Diagnostic
	// cursor and its offset in the line are where startsWith looked last. Nodes
	// come in the order of the file, so each line is read once.
	cursor place
	offset int
}

// place is a line and a column of the file, both counted from 1.
type place struct{ line, column int }

func placeOf(node *yaml.Node) place { return place{node.Line, node.Column} }

func (r *report) add(code fault.Code, path string, node *yaml.Node, format string, args ...any) {
	r.addAt(code, path, placeOf(node), format, args...)
}

func (r *report) addAt(code fault.Code, path string, at place, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, fault.Diagnostic{File: r.file, Path: path, Line: at.line,
		Column: at.column, Code: code, Message: fmt.Sprintf(format, args...)})
}

// failure returns the diagnostics as one error, in the order of the file, or nil. It
// has the code of the first diagnostic.
func (r *report) failure(name string) error {
	if len(r.diagnostics) == 0 {
		return nil
	}
	slices.SortStableFunc(r.diagnostics, func(a, b fault.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	first := r.diagnostics[0]
	err := fault.New(first.Code, "%s:%d:%d: %s", name, first.Line, first.Column, first.Message)
	if more := len(r.diagnostics) - 1; more > 0 {
		err.Details += fmt.Sprintf(" (and %d more)", more)
	}
	return err.With(r.diagnostics...)
}

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
