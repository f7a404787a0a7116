package schemas

import (
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// source is one schema as given: its text, decoded anew for each use that modifies the
// value, and a shared value for readers.
type source struct {
	raw   []byte
	value any
	// file is where it was read from; empty for a schema of a workflow.
	file string
	// broken is the error of a source without a value; references to it report that error.
	// unread is set for an existing file that could not be read.
	broken *fault.Error
	unread bool
}

// parseSource returns the source of a text.
func parseSource(data []byte) (source, error) {
	if len(data) > maxBytes {
		return source{}, errTooLarge
	}
	value, err := jsonvalue.DecodeStored(data)
	return source{raw: data, value: value}, err
}

// newSource returns the source of a value, which is copied. Equal values have
// the same text.
func newSource(value any) (source, error) {
	raw, err := jsonvalue.Encode(value)
	if err != nil {
		return source{}, err
	}
	return parseSource(raw)
}

// Source returns a named schema as it was written, if it is JSON. Do not change it.
func (s *Set) Source(name string) (any, bool) {
	found, ok := s.sources[name]
	return found.value, ok && found.broken == nil
}

// Broken returns the error of a schema file that is not JSON or cannot be read:
// YAML_SCHEMA_VIOLATION with the file and, if known, line and column. It is nil
// for all other names.
func (s *Set) Broken(name string) *fault.Error {
	broken := s.sources[name].broken
	if broken == nil {
		return nil
	}
	own := *broken // the caller may add to it
	own.Diagnostics = slices.Clone(broken.Diagnostics)
	return &own
}

// Unread lists the files that could not be read, with the reasons, "" if there are
// none. A later attempt may succeed although the files have not changed.
func (s *Set) Unread() string {
	var unread strings.Builder
	for _, name := range s.Names() {
		if found := s.sources[name]; found.unread {
			unread.WriteString(found.broken.Details + "\n")
		}
	}
	return unread.String()
}

// WithBroken returns a Set in which the named schemas are broken, for the given
// reasons.
func (s *Set) WithBroken(reasons map[string]string) *Set {
	if len(reasons) == 0 {
		return s
	}
	sources := maps.Clone(s.sources)
	for name, reason := range reasons {
		sources[name] = source{broken: fault.New(fault.YAMLSchemaViolation, "%s", reason)}
	}
	return &Set{sources: sources, compiled: newCache()}
}
