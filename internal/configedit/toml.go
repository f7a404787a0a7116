package configedit

import (
	"bytes"
	"cmp"
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
	now := tableAt(before, entry.Path)
	header := headerOf(entry.Path)
	block := writeTable(header, entry.Value.(Table))
	alone, err := parseTOML([]byte(block))
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an entry: %w", err)
	}
	value := tableAt(alone, entry.Path)
	if entry.Merge && now != nil {
		switch made, err := mergeTOML(text, entry); {
		case err == nil:
			return made, nil
		case !within(now, value):
			return nil, fault.New(fault.InvalidParams, "%s has more than Savant wrote, and values that are not in a line of their own; write each as key = value", header)
		} // else the whole table is written anew
	}
	if reflect.DeepEqual(now, value) {
		return text, nil
	}
	nl := newline(text)
	block = strings.ReplaceAll(block, "\n", nl)
	last := len(entry.Path) - 1
	addTables(before, entry.Path[:last])[entry.Path[last]] = value
	if now != nil {
		return replaceBlock(text, entry.Path, before, func(from, to int) []byte { return splice(text, from, to, block) })
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
	if err != nil || !reflect.DeepEqual(after, before) { // no table can stand below an inline one, a list or a text
		return nil, fault.New(fault.InvalidParams, "%s cannot be added: write %s as a table with a header of its own", header, entry.Path[0])
	}
	return made, nil
}

// within reports whether a table has no key that the other one lacks.
func within(table, other map[string]any) bool {
	for key, value := range table {
		below, _ := value.(map[string]any)
		if _, has := other[key]; !has || !within(below, tableAt(other, []string{key})) {
			return false
		}
	}
	return true
}

// mergeTOML sets each key of an existing table in its line; all others stay.
func mergeTOML(text []byte, entry Entry) ([]byte, error) {
	for _, pair := range entry.Value.(Table) {
		before, err := parseTOML(text)
		if err != nil {
			return nil, err
		}
		now, path := tableAt(before, entry.Path), append(slices.Clone(entry.Path), pair.Key)
		value, below := pair.Value, Table{}
		if ours, ok := value.(map[string]string); ok {
			all := maps.Clone(ours)
			for name, other := range tableAt(now, []string{pair.Key}) {
				if text, ok := other.(string); ok && ours[name] == "" {
					all[name] = text
				}
			}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				below = append(below, Pair{name, all[name]})
			}
			value = all
		}
		line := pair.Key + " = " + writeValue(value) + newline(text)
		alone, err := parseTOML([]byte(line))
		if err != nil {
			return nil, fault.New(fault.Internal, "encode an entry: %w", err)
		}
		if reflect.DeepEqual(now[pair.Key], alone[pair.Key]) {
			continue
		}
		if _, _, own := blockOf(text, 0, headerOf(path)); own {
			text, err = setTOML(text, Entry{Path: path, Value: below})
		} else {
			now[pair.Key] = alone[pair.Key]
			text, err = replaceBlock(text, entry.Path, before, func(from, to int) []byte { return setLine(text, from, to, pair.Key, line) })
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// setLine replaces the line of a key in a table, or adds it below the header.
func setLine(text []byte, from, to int, key, line string) []byte {
	at, first := from, -1
	for each := range bytes.Lines(text[from:to]) {
		name, _, isKey := strings.Cut(string(each), "=")
		if isKey && strings.TrimSpace(name) == key {
			return splice(text, at, at+len(each), line)
		}
		if at += len(each); first < 0 {
			first = at
		} else if strings.HasPrefix(strings.TrimSpace(name), "[") {
			break
		}
	}
	return splice(text, first, first, line)
}

func headerOf(path []string) string { return "[" + strings.Join(path, ".") + "]" }

func removeTOML(text []byte, entry Entry) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	if tableAt(before, entry.Path) == nil {
		return text, nil
	}
	last := len(entry.Path) - 1
	delete(tableAt(before, entry.Path[:last]), entry.Path[last])
	return replaceBlock(text, entry.Path, before, func(from, to int) []byte {
		if to == len(text) { // the empty line that Set added before it
			from = len(bytes.TrimSuffix(text[:from], []byte(newline(text))))
		}
		return splice(text, from, to, "")
	})
}

// replaceBlock changes the lines of a table, from its header up to the next table that is
// not below it. The wanted tables above it may be without a header. A line
// inside a multi-line string may look like the header, so it takes the first candidate
// whose change makes the file decode as wanted.
func replaceBlock(text []byte, path []string, wanted map[string]any, change func(from, to int) []byte) ([]byte, error) {
	header := headerOf(path)
	failed := error(fault.New(fault.InvalidParams, "%s exists, but without a header of its own; remove it by hand", header))
	for at := 0; at < len(text); {
		from, to, ok := blockOf(text, at, header)
		if !ok {
			break
		}
		made := change(from, to)
		after, err := parseTOML(made)
		if err == nil {
			addTables(after, path[:len(path)-1])
			err = unchangedElsewhere(after, wanted)
		}
		if err == nil {
			return made, nil
		}
		failed, at = err, to
	}
	return nil, failed
}

// blockOf finds the next lines that look like a table with the header, from an offset. The
// comments above the next table are not part of it.
func blockOf(text []byte, at int, header string) (from, to int, ok bool) {
	from = -1
	for line := range bytes.Lines(text[at:]) {
		trimmed, comment, _ := strings.Cut(string(line), "#")
		trimmed = strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "").Replace(strings.TrimSpace(trimmed))
		switch {
		case from < 0 && trimmed == header:
			from = at
		case from >= 0 && strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(strings.TrimLeft(trimmed, "["), strings.Trim(header, "[]")+"."):
			return from, cmp.Or(to, at), true
		case trimmed == "" && comment != "":
			to = cmp.Or(to, at)
		}
		if at += len(line); trimmed != "" {
			to = 0
		}
	}
	return from, cmp.Or(to, len(text)), from >= 0
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

// addTables returns the table at a path; it adds the tables that are missing.
func addTables(at map[string]any, path []string) map[string]any {
	for _, name := range path {
		below, ok := at[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[name] = below
		}
		at = below
	}
	return at
}
