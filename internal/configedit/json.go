package configedit

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// item is a member of an object or an element of an array, with its place in the text.
type item struct {
	name       string
	before     int // behind the bracket or comma before it
	start, end int // from the name, or the value, to the end of the value
	value      hujson.Value
}

// items returns the items of an object or an array; ok is false for other values.
func items(v hujson.Value) (list []item, ok bool) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for _, m := range c.Members {
			name := m.Name.Value.(hujson.Literal).String()
			list = append(list, item{name, m.Name.StartOffset - len(m.Name.BeforeExtra), m.Name.StartOffset, m.Value.EndOffset, m.Value})
		}
		return list, true
	case *hujson.Array:
		for _, e := range c.Elements {
			list = append(list, item{"", e.StartOffset - len(e.BeforeExtra), e.StartOffset, e.EndOffset, e})
		}
		return list, true
	}
	return nil, false
}

// withNewline returns a copy of the text with a final newline, because hujson requires comments
// to end.
func withNewline(text []byte) []byte { return append(bytes.Clone(text), '\n') }

func parseJSON(text []byte) (hujson.Value, error) {
	root, err := hujson.Parse(withNewline(text))
	if err != nil {
		return root, unreadable(err)
	}
	return root, nil
}

func unreadable(err error) error {
	return fault.New(fault.InvalidParams, "the file cannot be read as JSON with comments: %s", strings.TrimPrefix(err.Error(), "hujson: "))
}

// blank reports whether a text has no value, but at most comments.
func blank(text []byte) bool {
	_, err := hujson.Parse(append(withNewline(text), "{}"...))
	return err == nil
}

// plainJSON decodes a text to Go values.
func plainJSON(text []byte) (value any, err error) {
	standard, err := hujson.Standardize(withNewline(text))
	if err == nil {
		err = json.Unmarshal(standard, &value)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return value, nil
}

// find follows the path as far as it exists: it returns the deepest value and the
// missing rest of the path.
func find(text []byte, root hujson.Value, path []string) (at hujson.Value, missing []string, err error) {
	at = root
	for i, name := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return at, nil, misplaced(text, at, path[:i], "an object")
		}
		list, _ := items(at)
		found := -1
		for k := range object.Members {
			if list[k].name != name {
				continue
			}
			if found >= 0 {
				line, column := jsonvalue.Place(text, list[k].start)
				return at, nil, fault.New(fault.InvalidParams, "%d:%d: the key %q appears twice; remove one of them", line, column, name)
			}
			found = k
		}
		if found < 0 {
			return at, path[i:], nil
		}
		at = list[found].value
	}
	return at, nil, nil
}

// has reports whether a value exists at the path.
func has(text []byte, path []string) bool {
	root, err := decoded(text, JSON)
	_, ok := valueAt(root, path)
	return err == nil && ok
}

func misplaced(text []byte, at hujson.Value, path []string, wanted string) error {
	line, column := jsonvalue.Place(text, at.StartOffset)
	what := "the whole file"
	if len(path) > 0 {
		what = strconv.Quote(strings.Join(path, "."))
	}
	return fault.New(fault.InvalidParams, "%d:%d: %s must be %s", line, column, what, wanted)
}

func setJSON(text []byte, entry Entry) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	} else if blank(text) {
		text = append(withNewline(bytes.TrimRight(text, "\r\n")), "{}\n"...)
	}
	before, err := plainJSON(text)
	if err != nil {
		return nil, err
	}
	value, err := plainOf(entry.Value)
	if err != nil {
		return nil, err
	}
	if members, ok := value.(map[string]any); ok && entry.Merge && len(members) > 0 && has(text, entry.Path) {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			below := Entry{Path: append(slices.Clone(entry.Path), name), Value: members[name], Merge: true}
			if text, err = setJSON(text, below); err != nil {
				return nil, err
			}
		}
		return text, nil
	}
	made, err := setMember(text, entry, value)
	if err != nil {
		return nil, err
	}
	after, err := plainJSON(made)
	if err != nil {
		return nil, err
	}
	return made, unchangedElsewhere(withoutEntry(after, entry), withoutEntry(before, entry))
}

// plainOf returns a value as decoded after encoding.
func plainOf(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an entry: %w", err)
	}
	return plainJSON(data)
}

func setMember(text []byte, entry Entry, plain any) ([]byte, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	at, missing, err := find(text, root, entry.Path)
	if err != nil {
		return nil, err
	}
	switch {
	case len(missing) > 0:
		return insert(text, at, &missing[0], nested(missing[1:], entry))
	case entry.Own == nil:
		return replaceJSON(text, at, entry.Value, plain)
	}
	if _, ok := at.Value.(*hujson.Array); !ok {
		return nil, misplaced(text, at, entry.Path, "an array")
	}
	own, err := ownItem(text, at, entry.Own)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return insert(text, at, nil, entry.Value)
	}
	return replaceJSON(text, own.value, entry.Value, plain)
}

// nested wraps an entry in the missing objects of its path.
func nested(names []string, entry Entry) any {
	value := entry.Value
	if entry.Own != nil {
		value = []any{value}
	}
	for i := len(names) - 1; i >= 0; i-- {
		value = map[string]any{names[i]: value}
	}
	return value
}

// ownItem returns the array's element for which own is true, or nil.
func ownItem(text []byte, array hujson.Value, own func(any) bool) (*item, error) {
	list, _ := items(array)
	for i := range list {
		value, err := plainJSON(text[list[i].value.StartOffset:list[i].value.EndOffset])
		if err != nil {
			return nil, err
		}
		if own(value) {
			return &list[i], nil
		}
	}
	return nil, nil
}

func replaceJSON(text []byte, at hujson.Value, value, plain any) ([]byte, error) {
	now, err := plainJSON(text[at.StartOffset:at.EndOffset])
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(now, plain) {
		return text, nil
	}
	written, err := render(text, value, lineIndent(text, at.StartOffset), bytes.IndexByte(text, '\n') >= 0)
	if err != nil {
		return nil, err
	}
	return splice(text, at.StartOffset, at.EndOffset, written), nil
}
