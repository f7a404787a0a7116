package schemas

import (
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// source is one schema as it was given: its text, to be decoded for those who
// change it, and the value for those who only read it.
type source struct {
	raw   []byte
	value any
	// file is where it was read from; empty for a schema of a workflow.
	file string
	// broken is why there is no value: whoever refers to it is told. unread: the
	// file is there, and was not to be read.
	broken *fault.Error
	unread bool
}

// decode returns the source of a text.
func decode(data []byte) (source, error) {
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
	return decode(raw)
}

// Source returns a named schema as it was written, if it is JSON; do not
// change it.
func (s *Set) Source(name string) (any, bool) {
	found, ok := s.sources[name]
	return found.value, ok && found.broken == nil
}

// Broken returns why nothing can be had of a named schema, whose file is not
// JSON or cannot be read: YAML_SCHEMA_VIOLATION with the file, and the line and
// column where they are known. It is nil for all other names.
func (s *Set) Broken(name string) *fault.Error {
	broken := s.sources[name].broken
	if broken == nil {
		return nil
	}
	own := *broken // theirs to add to
	own.Diagnostics = slices.Clone(broken.Diagnostics)
	return &own
}

// Unread says which files could not be read, and why: reading them again may go
// otherwise, though nothing of them has changed. It is empty where there are
// none.
func (s *Set) Unread() string {
	var unread strings.Builder
	for _, name := range s.Names() {
		if found := s.sources[name]; found.unread {
			unread.WriteString(found.broken.Details + "\n")
		}
	}
	return unread.String()
}

// WithBroken returns a Set in which the schemas of some names are broken, for
// the reasons given.
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
