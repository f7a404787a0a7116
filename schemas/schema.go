package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Schema checks values. It is safe for concurrent use.
type Schema struct {
	name     string
	value    any
	text     []byte
	compiled *jsonschema.Schema
	// documents are the schema and what it refers to, by address.
	documents map[string]any
	root      *node
	paths     int
}

// maxValues bounds the values inside one value, itself included. The validator cannot
// be interrupted and allocates about 1.2 KB for each invalid one (jsonschema v5.3.1); a
// line of 64 MiB can contain 33 million.
const maxValues = 1_000_000

// Name returns the name of a named schema, or "".
func (s *Schema) Name() string { return s.name }

// JSON returns the schema as it was given, decoded. It is shared: do not
// change it.
func (s *Schema) JSON() any { return s.value }

// Text returns the schema as it was given, in JSON: of a file, as it is written.
func (s *Schema) Text() []byte { return s.text }

// compile builds a Schema; name is empty for an inline one.
func (s *Set) compile(name string, from source) (schema *Schema, err error) {
	defer contain(&err)
	what := "schema " + name
	if name == "" {
		what = "inline schema"
	}
	g, root, err := s.explore(name, from)
	if err != nil {
		return nil, err
	}
	if len(g.diagnostics) > 0 {
		return nil, violation(what, s.withPositions(g.diagnostics)...)
	}
	compiled, err := build(g.documents, addressOf(name))
	if err != nil {
		return nil, violation(what, s.withPositions(s.compileDiagnostics(name, g.documents, err))...)
	}
	return &Schema{name: name, value: from.value, text: from.raw, compiled: compiled, documents: g.documents,
		root: root, paths: pathsOf(root)}, nil
}

// explore walks a schema and what it refers to, on copies.
func (s *Set) explore(name string, from source) (*graph, *node, error) {
	value, err := jsonvalue.DecodeStored(from.raw)
	if err != nil {
		return nil, nil, fault.From(err)
	}
	at := pointed{address: addressOf(name)}
	g := &graph{set: s, documents: map[string]any{at.address: value}, nodes: map[string]*node{}}
	root := g.walk(at, value)
	g.checkPaths(at, root)
	return g, root, nil
}

// newCompiler returns a compiler that loads nothing.
func newCompiler() *jsonschema.Compiler {
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true // unset, it would depend on whether "$schema" is written
	compiler.LoadURL = func(string) (io.ReadCloser, error) {
		return nil, errors.New("references to files and addresses are refused")
	}
	return compiler
}

// build compiles documents none of which needs to be loaded.
func build(documents map[string]any, address string) (*jsonschema.Schema, error) {
	compiler := newCompiler()
	for at, document := range documents {
		raw, err := jsonvalue.Encode(document)
		if err != nil {
			return nil, err
		}
		if err := compiler.AddResource(at, bytes.NewReader(raw)); err != nil {
			return nil, err
		}
	}
	return compiler.Compile(address)
}

// Check returns nil if a value fits, else VALIDATION_FAILED with a sorted diagnostic
// {pointer, expected, actual, message} for each error. A value that is too large, or
// would take too long to check, is LIMIT_EXCEEDED. A value of other types than package
// jsonvalue's is encoded first. Check does not modify the value.
func (s *Schema) Check(value any) (err error) {
	defer contain(&err)
	count, plain := size(value, 0)
	if !plain {
		if value, err = jsonvalue.Recode(value); err != nil {
			return fault.New(fault.ValidationFailed, "not a JSON value: %w", err)
		}
		count, _ = size(value, 0)
	}
	if count > maxValues {
		return fault.New(fault.LimitExceeded, "the value holds %d values; at most %d are checked against %s", count, maxValues, s.label())
	}
	if limit := maxVisits + visitsPerValue*count; s.paths >= many || s.paths*count > limit { // every path for every value
		if work := (meter{known: map[visit]int{}, limit: limit}); work.cost(s.root, value) > limit {
			return fault.New(fault.LimitExceeded, "checking this value against %s would take too long: the schema multiplies with the value's depth", s.label())
		}
	}
	if err := s.compiled.Validate(value); err != nil {
		return s.violations(value, err)
	}
	return nil
}

func (s *Schema) violations(value any, err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fault.From(fmt.Errorf("schemas: %w", err))
	}
	return s.failed(sortUnique(explainer{documents: s.documents, value: value}.explain(invalid)))
}

func (s *Schema) failed(found []fault.Diagnostic) error {
	first := found[0]
	details := fmt.Sprintf("%s: %s", s.label(), first.Message)
	if first.Pointer != "" {
		details = fmt.Sprintf("%s: %s: %s", s.label(), first.Pointer, first.Message)
	}
	if len(found) > 1 {
		details += fmt.Sprintf(" (and %d more)", len(found)-1)
	}
	return fault.New(fault.ValidationFailed, "the value does not fit %s", details).With(found...)
}

func (s *Schema) label() string {
	if s.name == "" {
		return "the schema"
	}
	return "the schema " + s.name
}

// size counts a value and all values inside it. plain reports whether the
// validator can handle their types and numbers.
func size(value any, depth int) (count int, plain bool) {
	count = 1
	switch v := value.(type) {
	case nil, bool, string, int:
	case float64:
		return 1, !math.IsNaN(v) && !math.IsInf(v, 0)
	case json.Number:
		return 1, !strings.ContainsAny(string(v), "eE.")
	case []any:
		for _, part := range v {
			inside, ok := size(part, depth+1)
			if count += inside; !ok || depth > 200 {
				return count, false
			}
		}
	case map[string]any:
		for _, part := range v {
			inside, ok := size(part, depth+1)
			if count += inside; !ok || depth > 200 {
				return count, false
			}
		}
	default:
		return 1, false
	}
	return count, true
}

// contain converts a panic of the validator to INTERNAL, hiding its text, which may
// quote the value.
func contain(err *error) {
	if cause := recover(); cause != nil {
		*err = fault.From(fmt.Errorf("schemas: the validator panicked: %v", cause))
	}
}
