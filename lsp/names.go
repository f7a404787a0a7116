package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"savant/think/library"
)

// declared is a step, a case or a rule, and the line that names it.
type declared struct {
	name, detail     string
	line, begin, end int
}

// stepLines are the steps that a text names.
func stepLines(text lines) []declared { return declaredIn(text, "steps", "id", "call") }

// declaredIn are the items of a list of the root that a key names. It reads the text once,
// line by line, so that also one with mistakes has them.
func declaredIn(text lines, list, key, detail string) (found []declared) {
	inside, mark, indent := false, -1, -1
	named := func(number int, line string, name string, from int) {
		at := from + max(0, strings.Index(line[from:], name))
		found = append(found, declared{name: name, line: number, begin: at, end: at + len(name)})
	}
	for number, line := range text {
		r := rowOf(line)
		switch {
		case r.blank():
			continue
		case r.at == 0 && r.key != "":
			inside, mark = r.key == list, -1
			continue
		case !inside:
			continue
		case len(r.marks) > 0 && (mark < 0 || r.marks[0] == mark):
			mark, indent = r.marks[0], r.at
			if strings.HasPrefix(r.value, "{") {
				own := entries(r.value)
				if name := own[key]; name != "" {
					named(number, line, name, r.from+max(0, strings.Index(r.value, key+":"))+len(key)+1)
					found[len(found)-1].detail = own[detail]
				}
				continue
			}
		}
		if r.at != indent || plain(r.value) == "" {
			continue
		}
		if r.key == key {
			named(number, line, plain(r.value), r.from)
		} else if last := len(found) - 1; r.key == detail && last >= 0 {
			found[last].detail = plain(r.value)
		}
	}
	return found
}

// declarations are the things that a document declares.
func (t text) declarations() []declared {
	switch t.kind {
	case ofWorkflow:
		return stepLines(t.lines)
	case ofCases, ofRuleCases:
		return declaredIn(t.lines, "cases", "name", "")
	case ofRules:
		return declaredIn(t.lines, "rules", "id", "before")
	}
	return nil
}

func (s *server) symbols(_ context.Context, in inDocument) ([]symbol, error) {
	t, _ := s.open.get(in.TextDocument.URI)
	found := []symbol{}
	all := t.declarations()
	for i, each := range all {
		last := len(t.lines) - 1
		if i+1 < len(all) {
			last = max(each.line, all[i+1].line-1)
		}
		found = append(found, symbol{Name: each.name, Detail: each.detail, Kind: symbolEvent,
			Range:          span{position{each.line, 0}, position{last, s.encoding.character(t.lines[last], len(t.lines[last]))}},
			SelectionRange: s.encoding.ranged(each.line, t.lines[each.line], each.begin, each.end)})
	}
	return found, nil
}

// at returns the word under a position, and where it stands.
func (s *server) word(in atPosition) (t text, word string, begin, end int, p cursor) {
	t, open := s.open.get(in.TextDocument.URI)
	if !open || in.Position.Line < 0 || in.Position.Line >= len(t.lines) {
		return t, "", 0, 0, cursor{}
	}
	line := t.lines[in.Position.Line]
	at := s.encoding.offset(line, in.Position.Character)
	begin, end = wordAt(line, at)
	word = strings.Trim(line[begin:end], "-.?")
	return t, word, begin, end, placeAt(t.lines, in.Position.Line, end)
}

func (s *server) hover(_ context.Context, in atPosition) (any, error) {
	t, word, begin, _, p := s.word(in)
	if word == "" {
		return nil, nil
	}
	said := ""
	switch line := t.lines[in.Position.Line]; {
	case p.key && strings.HasPrefix(strings.TrimLeft(line[begin+len(word):], `"'`), ":"):
		said = s.meaning(t, p, word)
	case p.readsExpression(t.kind):
		said = s.typeAt(t, p, line, begin, s.encoding.offset(line, in.Position.Character))
	default:
		said = s.toolText(word)
	}
	if said == "" {
		return nil, nil
	}
	return hover{markup{"markdown", said}}, nil
}

// meaning says what a key is for: an argument of a tool, or a key of the language.
func (s *server) meaning(t text, p cursor, key string) string {
	if t.kind == ofWorkflow && strings.Join(p.path, " ") == "steps [] input_template" {
		for _, each := range s.arguments(p.siblings[2]["call"]) {
			if each.label == key {
				return each.detail
			}
		}
	}
	if root := schemaOf(t.kind); root != nil {
		return keys(root.schemasAt(p.path))[key]
	}
	return ""
}

// typeAt says what an access up to the name under the cursor gives.
func (s *server) typeAt(t text, p cursor, line string, begin, at int) string {
	end := at
	for end < len(line) && isNameByte(line[end]) && line[end] != '.' && line[end] != '?' {
		end++
	}
	access := strings.Split(strings.ReplaceAll(line[begin:end], "?", ""), ".")
	if access[0] == "steps" && len(access) > 1 {
		for _, each := range stepLines(t.lines) {
			if each.name == access[1] {
				return "step `" + each.name + "`, " + each.detail
			}
		}
		return ""
	}
	if of := typeOf(s.scope(t, p), access); of != nil {
		return "`" + strings.Join(access, ".") + "`: " + of.String()
	}
	return ""
}

// toolText says what a tool does and takes.
func (s *server) toolText(name string) string {
	tool, known := s.project.Tool(name)
	if !known {
		return ""
	}
	said := []string{"**" + name + "**: " + s.project.Describe(name), ""}
	if read := parsedSchema(tool.Input); read != nil {
		meanings := keys(read.schemasAt(nil))
		for _, each := range sorted(meanings) {
			said = append(said, "- `"+each+"` "+meanings[each])
		}
	}
	return strings.Join(said, "\n")
}

// fileOf returns the file of the project that holds a workflow, or "".
func (s *server) fileOf(workflow string) string {
	found, err := s.engine.Library.Find(workflow, "")
	file := "workflows/" + workflow + ".yaml" // one with errors
	if err == nil {
		file = found.File
	}
	if _, err := fs.Stat(s.files, file); err != nil {
		return "" // a bundled one
	}
	return file
}

// read returns the text of a file of the project, as the editor has it.
func (s *server) read(file string) string {
	text, err := fs.ReadFile(s.files, file)
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *server) definition(_ context.Context, in atPosition) (any, error) {
	t, word, _, _, p := s.word(in)
	if word == "" {
		return nil, nil
	}
	if !p.key && len(p.path) > 0 && p.path[len(p.path)-1] == "workflow" || word == library.CasesOf(t.name) && t.kind == ofCases {
		if file := s.fileOf(word); file != "" {
			return location{URI: address(filepath.Join(s.project.Folder(), filepath.FromSlash(file)))}, nil
		}
		return nil, nil
	}
	from := t
	if t.kind == ofCases {
		file := s.fileOf(library.CasesOf(t.name))
		if file == "" {
			return nil, nil
		}
		opened, open := s.open.find(file)
		if !open {
			opened = text{uri: address(filepath.Join(s.project.Folder(), filepath.FromSlash(file))), lines: linesOf(s.read(file))}
		}
		from = opened
	}
	names := strings.Split(strings.ReplaceAll(word, "?", ""), ".")
	root := "params"
	switch {
	case t.kind == ofRules && names[0] == "facts" && len(names) > 1:
		root, names = "facts", names[1:]
	case t.kind == ofRules:
		root = "evidence"
	case names[0] == "params" && len(names) > 1:
		names = names[1:]
		return s.declaredAt(from, root, names[0]), nil
	case slices.Contains([]string{"state", "steps"}, names[0]) && len(names) > 1:
		names = names[1:]
	}
	for _, each := range slices.Concat(stepLines(from.lines), declaredIn(from.lines, "steps", "capture_as", "id")) {
		if each.name == names[0] {
			return location{from.uri, s.encoding.ranged(each.line, from.lines[each.line], each.begin, each.end)}, nil
		}
	}
	return s.declaredAt(from, root, names[0]), nil
}

// declaredAt returns where a parameter, a fact or evidence is declared, or nil.
func (s *server) declaredAt(t text, root, name string) any {
	found, ok := lineOfKey(t.lines, root, name)
	if !ok {
		return nil
	}
	return location{t.uri, s.encoding.ranged(found.line, t.lines[found.line], found.begin, found.end)}
}
