// Package schemas is the Validator: named JSON Schemas in layers, inline schemas,
// and diagnostics for values that do not fit.
//
// Drafts 2020-12 (the default), 2019-09 and 7 are read, chosen by "$schema".
// A "$ref" names another schema of the same Set ("Finding", "Finding.json",
// "Finding#/$defs/line"), a place in its own schema ("#/…"), or the metaschema
// of a draft: nothing is read from a file or the network. "pattern" is an RE2
// expression. A known "format" is asserted in every draft. "contentSchema" is
// ignored.
package schemas

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Set is a collection of named schemas. It is immutable and safe for concurrent
// use.
type Set struct {
	sources  map[string]source
	compiled *cache
}

// With returns a Set that also holds a workflow's own schemas. They replace those
// of the same name. Values are decoded JSON and are copied.
func (s *Set) With(local map[string]any) (*Set, error) {
	if len(local) == 0 {
		return s, nil
	}
	sources := maps.Clone(s.sources)
	for _, name := range slices.Sorted(maps.Keys(local)) {
		own, err := newSource(local[name])
		if err != nil {
			return nil, violation("schema "+name, fault.Diagnostic{Path: "schemas." + name, Message: err.Error()})
		}
		sources[name] = own
	}
	return &Set{sources: sources, compiled: newCache()}, nil
}

// Names returns the names of the schemas, sorted, those of broken files too.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.sources)) }

// Lookup returns a schema by its name, with or without ".json". It is
// SCHEMA_NOT_FOUND with the nearest name, or YAML_SCHEMA_VIOLATION with the places
// of the errors in it and in what it refers to.
func (s *Set) Lookup(name string) (*Schema, error) {
	found, known := s.lookup(name)
	switch {
	case !known:
		return nil, s.notFound(name)
	case s.sources[found].broken != nil:
		return nil, s.Broken(found)
	}
	return s.compiled.get("name:"+found, func() (*Schema, error) {
		return s.compile(found, s.sources[found])
	})
}

// Inline returns the schema of a decoded JSON value, an object or a boolean. An
// invalid schema is YAML_SCHEMA_VIOLATION with pointers to the errors. The value
// is copied; the same content is compiled once.
func (s *Set) Inline(schema any) (*Schema, error) {
	wrong := func(err error) error { return violation("inline schema", fault.Diagnostic{Message: err.Error()}) }
	raw, err := jsonvalue.Encode(schema)
	if err != nil {
		return nil, wrong(err)
	}
	return s.compiled.get("inline:"+string(raw), func() (*Schema, error) {
		own, err := parseSource(raw)
		if err != nil {
			return nil, wrong(err)
		}
		return s.compile("", own)
	})
}

// lookup returns the name under which a schema is held.
func (s *Set) lookup(name string) (string, bool) {
	if _, exact := s.sources[name]; exact {
		return name, true
	}
	bare, cut := strings.CutSuffix(name, ".json")
	_, known := s.sources[bare]
	return bare, cut && known
}

func (s *Set) notFound(name string) *fault.Error {
	return fault.New(fault.SchemaNotFound, "no schema is named %q%s", name, fault.NearestHint("; did you mean %q?", name, s.Names()))
}

func violation(what string, diagnostics ...fault.Diagnostic) *fault.Error {
	details := what + " is not a schema"
	if len(diagnostics) > 0 {
		first := diagnostics[0]
		details += ": "
		if first.Line > 0 {
			details += fmt.Sprintf("%s:%d:%d: ", first.File, first.Line, first.Column)
		}
		details += strings.TrimPrefix(first.Pointer+": ", ": ") + first.Message
	}
	return fault.New(fault.YAMLSchemaViolation, "%s", details).With(diagnostics...)
}
