// Package configedit adds entries to hand-written configuration files, and removes
// them. It changes only the bytes of the entry, and preserves comments, order,
// indentation, line ends and a byte order mark.
package configedit

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"savant/fault"
)

// Format is the format of a file.
type Format string

// JSON may have comments and trailing commas (JSONC). TOML is version 1.0.
const (
	JSON Format = "json"
	TOML Format = "toml"
)

// Entry is a wanted entry of a file.
type Entry struct {
	// Path is the path to the entry by member names. Missing objects on the path are
	// created.
	Path []string
	// Value is a JSON value; in TOML, a Table.
	Value any
	// Own is nil if Path names the entry itself. Otherwise Path names an array, and Own
	// identifies the entry among its elements.
	Own func(element any) bool
	// Keep is for members that the file needs for the entries behind it, such as its version: a
	// missing one is set, an existing one is never replaced, and removed only if Set added it.
	Keep bool
	// Merge: members of an existing object that Value does not name stay.
	Merge bool
}

var bom = []byte("\xef\xbb\xbf")

// Set returns the text with every entry. It is idempotent. INVALID_PARAMS for a syntax
// error, with the line, and for a different value on the path of an entry.
func Set(text []byte, format Format, entries []Entry) ([]byte, error) {
	edit := setJSON
	if format == TOML {
		edit = setTOML
	}
	return edited(text, format, entries, func(plain []byte, entry Entry) ([]byte, error) {
		if entry.Keep && has(plain, entry.Path) {
			return plain, nil
		}
		return edit(plain, entry)
	})
}

// Remove returns the text without the entries, whatever their values, and without
// objects and arrays that became empty. Those that earlier, the text before Set, has
// stay or come back. The errors are those of Set.
func Remove(text []byte, format Format, entries []Entry, earlier []byte) ([]byte, error) {
	earlier, _ = bytes.CutPrefix(earlier, bom)
	was, err := decoded(earlier, format)
	if err != nil { // a damaged copy has nothing
		earlier = nil
	}
	entries = slices.Clone(entries) // the last one first, so that members with Keep, which stand before the others, see them gone
	slices.Reverse(entries)
	return edited(text, format, entries, func(plain []byte, entry Entry) ([]byte, error) {
		if format == TOML { // it has no Keep
			return removeTOML(plain, entry, earlier)
		}
		now, err := decoded(plain, format)
		if err != nil {
			return nil, err
		}
		value, ok := valueAt(now, entry.Path)
		old, had := valueAt(was, entry.Path)
		switch {
		case !ok && entry.Own == nil, entry.Keep && (had || fmt.Sprint(value) != fmt.Sprint(entry.Value) || needed(now, was, entries)):
			return plain, nil
		case had && entry.Own == nil:
			return setJSON(plain, Entry{Path: entry.Path, Value: old})
		}
		return removeJSON(plain, entry, was)
	})
}

// needed reports whether somebody added something beside the entries since.
func needed(now, was any, entries []Entry) bool {
	return slices.ContainsFunc(entries, func(entry Entry) bool {
		value, ok := valueAt(now, entry.Path[:1])
		old, _ := valueAt(was, entry.Path[:1])
		return ok && !entry.Keep && !isEmpty(value) && !equal(value, old)
	})
}

func edited(text []byte, format Format, entries []Entry, edit func([]byte, Entry) ([]byte, error)) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, fault.New(fault.InvalidParams, "the file is not UTF-8")
	}
	plain, marked := bytes.CutPrefix(text, bom)
	if err := bounded(plain, format); err != nil {
		return nil, err
	}
	for _, entry := range entries {
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

// maxDepth and maxNodes bound a text before it is read: the parser of JSON recurses until the
// program is killed, and that of TOML compares each key with all others of its table.
const (
	maxDepth = 10_000
	maxNodes = 30_000
)

func bounded(text []byte, format Format) error {
	switch {
	case format == TOML && nodesIn(text) > maxNodes:
		return fault.New(fault.LimitExceeded, "the file has more than %d keys, tables and values and was not read", maxNodes)
	case format != TOML && isDeep(text):
		return fault.New(fault.LimitExceeded, "the file is nested deeper than %d and was not read", maxDepth)
	}
	return nil
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

// unchangedElsewhere verifies an edit: nothing but the entry may differ. A difference
// is a defect of this package.
func unchangedElsewhere(made, wanted any) error {
	if !equal(made, wanted) {
		return fault.New(fault.Internal, "the edit would change more than its entry; the file was not changed")
	}
	return nil
}

// equal compares two values, where nan is the same as nan.
func equal(one, other any) bool {
	return reflect.DeepEqual(one, other) || fmt.Sprintf("%#v", one) == fmt.Sprintf("%#v", other)
}

// Get returns the value at a path, and whether it exists. The errors are those of Set.
func Get(text []byte, format Format, path []string) (any, bool, error) {
	plain, _ := bytes.CutPrefix(text, bom)
	root, err := decoded(plain, format)
	if err != nil {
		return nil, false, err
	}
	value, ok := valueAt(root, path)
	return value, ok, nil
}

// decoded is the value of a text, nil for one without any.
func decoded(text []byte, format Format) (any, error) {
	switch err := bounded(text, format); {
	case err != nil:
		return nil, err
	case format == TOML:
		return parseTOML(text)
	case blank(text):
		return nil, nil
	}
	return plainJSON(text)
}

func valueAt(at any, path []string) (any, bool) {
	for _, name := range path {
		object, _ := at.(map[string]any)
		below, ok := object[name]
		if !ok {
			return nil, false
		}
		at = below
	}
	return at, true
}
