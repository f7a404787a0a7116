// Package configedit adds entries to configuration files that people write by hand,
// and takes them out again. Only the bytes of the entry change: comments, order,
// indentation, line ends and a byte order mark stay.
package configedit

import (
	"bytes"
	"reflect"
	"unicode/utf8"

	"savant/fault"
)

// Format is how a file is written.
type Format string

// JSON may have comments and trailing commas (JSONC). TOML is version 1.0.
const (
	JSON Format = "json"
	TOML Format = "toml"
)

// Entry is one thing that belongs into a file.
type Entry struct {
	// Path leads to the entry by the names of members. Objects that are missing on
	// the way are made.
	Path []string
	// Value is what JSON can hold; in TOML, a Table.
	Value any
	// Own is nil where Path names the entry itself. Else Path names an array, and Own
	// tells the element of it that is the entry from those of others.
	Own func(element any) bool
	// Keep is for what the file needs anyway, such as its version: it is set where it is
	// missing, and never replaced or removed.
	Keep bool
}

var bom = []byte("\xef\xbb\xbf")

// Set returns the text with every entry in it. What is there already stays, so the
// same twice changes nothing. INVALID_PARAMS where the text cannot be read, with the
// line, or where something else stands in the place of an entry.
func Set(text []byte, format Format, entries []Entry) ([]byte, error) {
	return edited(text, format, entries, false)
}

// Remove returns the text without the entries, whatever their values are, and without
// objects and arrays that are empty then. Codes as Set.
func Remove(text []byte, format Format, entries []Entry) ([]byte, error) {
	return edited(text, format, entries, true)
}

func edited(text []byte, format Format, entries []Entry, removes bool) ([]byte, error) {
	edit := setJSON
	switch {
	case format == TOML && removes:
		edit = removeTOML
	case format == TOML:
		edit = setTOML
	case removes:
		edit = removeJSON
	}
	if !utf8.Valid(text) {
		return nil, fault.New(fault.InvalidParams, "the file is not UTF-8; nothing of it is changed")
	}
	plain, marked := bytes.CutPrefix(text, bom)
	for _, entry := range entries {
		if entry.Keep && (removes || has(plain, entry.Path)) {
			continue
		}
		var err error
		if plain, err = edit(plain, entry); err != nil {
			return nil, err
		}
	}
	if marked {
		plain = append(bytes.Clone(bom), plain...)
	}
	return plain, nil
}

// newline is the line end that the text uses.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splice replaces text[from:to].
func splice(text []byte, from, to int, by string) []byte {
	return append(append(bytes.Clone(text[:from]), by...), text[to:]...)
}

// unchangedElsewhere holds what an edit made of a text against what it should have
// made: nothing but the entry may differ. A difference is a defect of this package.
func unchangedElsewhere(made, wanted any) error {
	if !reflect.DeepEqual(made, wanted) {
		return fault.New(fault.Internal, "the edit would change more than its entry; the file is left as it is")
	}
	return nil
}

// Get returns the value that a path leads to in a text, and whether there is one.
// Codes as Set.
func Get(text []byte, format Format, path []string) (any, bool, error) {
	plain, _ := bytes.CutPrefix(text, bom)
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil, false, nil
	}
	var at any
	var err error
	if format == TOML {
		at, err = parseTOML(plain)
	} else {
		at, err = plainJSON(plain)
	}
	for _, name := range path {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false, err
		}
		if at, ok = object[name]; !ok {
			return nil, false, err
		}
	}
	return at, err == nil, err
}
