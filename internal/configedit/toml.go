package configedit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

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
	err := toml.Unmarshal(text, &value)
	if at := new(toml.DecodeError); errors.As(err, &at) {
		line, column := at.Position()
		err = fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(at.Error(), "toml: "))
	}
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the file cannot be read as TOML: %w", err)
	}
	return value, nil
}

// nodesIn counts keys, tables and values, hardly beyond maxNodes.
func nodesIn(text []byte) (n int) {
	var count func(*unstable.Node)
	count = func(node *unstable.Node) {
		n++
		for below := node.Children(); below.Next() && n <= maxNodes; {
			count(below.Node())
		}
	}
	parser := unstable.Parser{}
	parser.Reset(text)
	for n <= maxNodes && parser.NextExpression() {
		count(parser.Expression())
	}
	return n
}

// statement is a header, a key with its value, or a comment in lines of its own.
type statement struct {
	kind     unstable.Kind
	path     []string // of the table or the key, from the root
	from, to int      // its lines
	keyEnd   int
}

// isBelow reports whether a statement is about the table at a path.
func (s statement) isBelow(path []string) bool {
	return s.kind != unstable.Comment && len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// statements returns the statements of a text that can be read.
func statements(text []byte) (list []statement) {
	parser, table := unstable.Parser{KeepComments: true}, []string(nil)
	parser.Reset(text)
	for parser.NextExpression() {
		node := parser.Expression()
		s, start := statement{kind: node.Kind}, node.Raw.Offset
		if node.Kind == unstable.KeyValue {
			s.path = slices.Clone(table)
		}
		if node.Kind != unstable.Comment {
			for key := node.Key(); key.Next(); {
				part := key.Node()
				s.path, s.keyEnd = append(s.path, string(part.Data)), int(part.Raw.Offset+part.Raw.Length)
			}
			start = uint32(s.keyEnd) // a key has one line
		}
		if node.Kind == unstable.Table || node.Kind == unstable.ArrayTable {
			table = s.path
		}
		s.from = bytes.LastIndexByte(text[:start], '\n') + 1
		list = append(list, s)
	}
	for i := range list {
		list[i].to = list[i].from + len(bytes.TrimRight(text[list[i].from:startOf(list, i+1, text)], " \t\r\n"))
		if rest := bytes.IndexByte(text[list[i].to:], '\n'); rest >= 0 {
			list[i].to += rest + 1
		} else {
			list[i].to = len(text)
		}
	}
	return list
}

// startOf is where a statement begins, behind the last one the end of the text.
func startOf(list []statement, i int, text []byte) int {
	if i < len(list) {
		return list[i].from
	}
	return len(text)
}

// run is a stretch of statements: from the first one up to the one behind the last.
type run struct{ first, behind int }

// runsOf returns the stretches of statements about a table. Comments between two of them are
// part of a run, and those before and behind it are not.
func runsOf(list []statement, path []string) (runs []run) {
	open := false
	for i, s := range list {
		switch own := s.isBelow(path); {
		case own && open:
			runs[len(runs)-1].behind = i + 1
		case own:
			runs = append(runs, run{i, i + 1})
		}
		open = s.isBelow(path) || open && s.kind == unstable.Comment
	}
	return runs
}

// setTOML replaces the table, at the place of its first header, or appends it to the text.
func setTOML(text []byte, entry Entry) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	now, header, table := tableAt(before, entry.Path), headerOf(entry.Path), entry.Value.(Table)
	alone, err := parseTOML([]byte(writeTable(header, table)))
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an entry: %w", err)
	}
	value := tableAt(alone, entry.Path)
	if equal(now, value) {
		return text, nil
	}
	made, last := replaced(text, entry.Path, writeTable(header, table)), len(entry.Path)-1
	if entry.Merge && now != nil {
		overlay(now, value)
		merged, err := mergeTOML(text, entry.Path, table)
		if after, failed := parseTOML(merged); err == nil && failed == nil && equal(after, before) {
			return merged, nil
		}
		if !equal(now, value) { // a person or Codex added something
			return nil, fault.New(fault.InvalidParams, "%s has more than Savant wrote, and values that are not in a line of their own; write each as key = value", header)
		} // else the whole table is written anew
	}
	addTables(before, entry.Path[:last])[entry.Path[last]] = value
	after, err := parseTOML(made)
	if err != nil || !equal(after, before) { // no table can stand below an inline one, a list or a text
		return nil, fault.New(fault.InvalidParams, "%s cannot be added: write %s as a table with a header of its own", header, entry.Path[0])
	}
	return made, nil
}

// replaced is the text with a block instead of all statements about a table: "" removes them,
// with the empty lines behind them.
func replaced(text []byte, path []string, block string) []byte {
	nl, list := newline(text), statements(text)
	runs := runsOf(list, path)
	home := slices.IndexFunc(runs, func(r run) bool { return block != "" && list[r.first].kind == unstable.Table })
	block, made := strings.ReplaceAll(block, "\n", nl), bytes.Clone(text)
	for i, r := range slices.Backward(runs) {
		from, to := list[r.first].from, startOf(list, r.behind, text)
		switch {
		case i == home:
			made = splice(made, from, list[r.behind-1].to, block)
		case to == len(text): // also the empty line that Set added before it
			if above := bytes.TrimSuffix(bytes.TrimSuffix(text[:from], []byte("\n")), []byte("\r")); len(above) == 0 || bytes.HasSuffix(above, []byte("\n")) {
				from = len(above)
			}
			made = splice(made, from, to, "")
		default:
			made = splice(made, from, to, "")
		}
	}
	if home < 0 && block != "" {
		made = appended(made, block, nl)
	}
	return made
}

// appended is a text with a block behind an empty line.
func appended(text []byte, block, nl string) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, nl...)
	}
	if len(text) > 0 {
		text = append(text, nl...)
	}
	return append(text, block...)
}

// overlay sets the values of another table, and of the tables in it.
func overlay(table, other map[string]any) {
	for key, value := range other {
		from, ours := value.(map[string]any)
		if into, theirs := table[key].(map[string]any); ours && theirs {
			overlay(into, from)
		} else {
			table[key] = value
		}
	}
}

// mergeTOML sets each key of an existing table in its line; all others stay.
func mergeTOML(text []byte, path []string, table Table) ([]byte, error) {
	for _, pair := range table {
		all, err := parseTOML(text)
		if err != nil {
			return nil, err
		}
		list, own, value := statements(text), append(slices.Clone(path), pair.Key), pair.Value
		at := slices.IndexFunc(list, func(s statement) bool { return s.kind == unstable.KeyValue && slices.Equal(s.path, own) })
		if ours, ok := value.(map[string]string); ok {
			merged := maps.Clone(ours)
			for name, other := range tableAt(all, own) {
				if text, ok := other.(string); ok && ours[name] == "" && at >= 0 {
					merged[name] = text
				}
			}
			if value = merged; at < 0 && tableAt(all, own) != nil { // its keys have lines of their own
				var below Table
				for _, name := range slices.Sorted(maps.Keys(ours)) {
					below = append(below, Pair{name, ours[name]})
				}
				if text, err = mergeTOML(text, own, below); err != nil {
					return nil, err
				}
				continue
			}
		}
		line, nl := pair.Key+" = "+writeValue(value), newline(text)
		alone, err := parseTOML([]byte(line))
		if err != nil {
			return nil, fault.New(fault.Internal, "encode an entry: %w", err)
		}
		header := slices.IndexFunc(list, func(s statement) bool { return s.kind == unstable.Table && slices.Equal(s.path, path) })
		switch {
		case equal(tableAt(all, path)[pair.Key], alone[pair.Key]):
		case at >= 0:
			text = splice(text, list[at].keyEnd, list[at].to, " = "+writeValue(value)+nl)
		case header >= 0:
			text = splice(text, list[header].to, list[header].to, line+nl)
		default:
			text = appended(bytes.Clone(text), headerOf(path)+nl+line+nl, nl)
		}
	}
	return text, nil
}

func headerOf(path []string) string { return "[" + strings.Join(path, ".") + "]" }

func removeTOML(text []byte, entry Entry, earlier []byte) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil || tableAt(before, entry.Path) == nil {
		return text, err
	}
	was, err := parseTOML(earlier)
	if err != nil {
		return nil, err
	}
	last, block, list := len(entry.Path)-1, "", statements(earlier)
	delete(tableAt(before, entry.Path[:last]), entry.Path[last])
	if old := tableAt(was, entry.Path); old != nil {
		addTables(before, entry.Path[:last])[entry.Path[last]] = old
		for _, r := range runsOf(list, entry.Path) {
			block += string(earlier[list[r.first].from:list[r.behind-1].to])
		}
	}
	made := replaced(text, entry.Path, strings.ReplaceAll(block, "\r\n", "\n"))
	after, err := parseTOML(made)
	if err != nil {
		return nil, err
	}
	addTables(after, entry.Path[:last])
	if !equal(after, before) {
		return nil, fault.New(fault.InvalidParams, "%s exists, but not as a table of its own; remove it by hand", headerOf(entry.Path))
	}
	return made, nil
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
	value, _ := valueAt(at, path)
	table, _ := value.(map[string]any)
	return table
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
