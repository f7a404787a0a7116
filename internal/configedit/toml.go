package configedit

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"savant/fault"
)

// Table is a table of TOML, key by key in the order they are written. A value is a
// string, a list of strings or an inline table of strings.
type Table []Pair

// Pair is a key of a Table.
type Pair struct {
	Key   string
	Value any
}

func parseTOML(text []byte) (map[string]any, error) {
	value := map[string]any{}
	if err := toml.Unmarshal(text, &value); err != nil {
		return nil, fault.New(fault.InvalidParams, "the file cannot be read as TOML: %w", err)
	}
	return value, nil
}

// setTOML replaces the table with the entry's header, or appends it to the text.
func setTOML(text []byte, entry Entry) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	header := "[" + strings.Join(entry.Path, ".") + "]"
	block := writeTable(header, entry.Value.(Table))
	alone, err := parseTOML([]byte(block))
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an entry: %w", err)
	}
	value := tableAt(alone, entry.Path)
	now := tableAt(before, entry.Path)
	if reflect.DeepEqual(now, value) {
		return text, nil
	}
	nl := newline(text)
	block = strings.ReplaceAll(block, "\n", nl)
	setTable(before, entry.Path, value)
	if now != nil {
		return replaceBlock(text, header, before, func(from, to int) []byte { return splice(text, from, to, block) })
	}
	made := bytes.Clone(text)
	if len(made) > 0 && !bytes.HasSuffix(made, []byte("\n")) {
		made = append(made, nl...)
	}
	if len(made) > 0 {
		made = append(made, nl...)
	}
	made = append(made, block...)
	after, err := parseTOML(made)
	if err != nil {
		return nil, err
	}
	return made, unchangedElsewhere(after, before)
}

func removeTOML(text []byte, entry Entry) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	if tableAt(before, entry.Path) == nil {
		return text, nil
	}
	setTable(before, entry.Path, nil)
	return replaceBlock(text, "["+strings.Join(entry.Path, ".")+"]", before, func(from, to int) []byte {
		if to == len(text) { // the empty line that Set added before it
			from = len(bytes.TrimSuffix(text[:from], []byte(newline(text))))
		}
		return splice(text, from, to, "")
	})
}

// replaceBlock changes the lines of a table, from its header up to the next one. A line
// inside a multi-line string may look like the header, so it takes the first candidate
// whose change makes the file decode as wanted.
func replaceBlock(text []byte, header string, wanted map[string]any, change func(from, to int) []byte) ([]byte, error) {
	failed := error(fault.New(fault.InvalidParams, "%s exists, but without a header of its own; remove it by hand", header))
	for at := 0; at < len(text); {
		from, to, ok := blockOf(text, at, header)
		if !ok {
			break
		}
		made := change(from, to)
		after, err := parseTOML(made)
		if err == nil {
			err = unchangedElsewhere(after, wanted)
		}
		if err == nil {
			return made, nil
		}
		failed, at = err, to
	}
	return nil, failed
}

// blockOf finds the next lines that look like a table with the header, from an offset.
func blockOf(text []byte, at int, header string) (from, to int, ok bool) {
	from, to = -1, len(text)
	for line := range bytes.Lines(text[at:]) {
		trimmed, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte("#"))
		switch {
		case from < 0 && strings.ReplaceAll(string(bytes.TrimSpace(trimmed)), " ", "") == header:
			from = at
		case from >= 0 && bytes.HasPrefix(trimmed, []byte("[")):
			to = at
		}
		if at += len(line); to < len(text) {
			break
		}
	}
	return from, to, from >= 0
}

func writeTable(header string, table Table) string {
	var text strings.Builder
	text.WriteString(header + "\n")
	for _, pair := range table {
		fmt.Fprintf(&text, "%s = %s\n", pair.Key, writeValue(pair.Value))
	}
	return text.String()
}

func writeValue(value any) string {
	switch v := value.(type) {
	case []string:
		quoted := make([]string, len(v))
		for i, each := range v {
			quoted[i] = quote(each)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case map[string]string:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, key+" = "+quote(v[key]))
		}
		return "{ " + strings.Join(pairs, ", ") + " }"
	}
	return quote(fmt.Sprint(value))
}

// quote writes a basic string of TOML 1.0.
func quote(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			quoted.WriteByte('\\')
			quoted.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&quoted, `\u%04X`, r)
		default:
			quoted.WriteRune(r)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// tableAt returns the table at a path, or nil.
func tableAt(at map[string]any, path []string) map[string]any {
	for _, name := range path {
		below, ok := at[name].(map[string]any)
		if !ok {
			return nil
		}
		at = below
	}
	return at
}

// setTable sets the table at a path; nil removes it, with tables that became empty.
func setTable(at map[string]any, path []string, table map[string]any) {
	if len(path) == 1 {
		if table == nil {
			delete(at, path[0])
		} else {
			at[path[0]] = table
		}
		return
	}
	below, ok := at[path[0]].(map[string]any)
	if !ok {
		below = map[string]any{}
		at[path[0]] = below
	}
	if setTable(below, path[1:], table); table == nil && len(below) == 0 {
		delete(at, path[0])
	}
}
