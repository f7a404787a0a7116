package lsp

import (
	"context"
	"strings"

	"savant/internal/pattern"
)

var (
	meantPattern  = pattern.Lazy("did you mean \"?([^\"?,;]+)\"?")
	quotedPattern = pattern.Lazy(`"([^"]+)"`)
	safePattern   = pattern.Lazy(`[\w#.?\[\]"-]*\?\.[\w.?]+`)
	joinPattern   = pattern.Lazy(`write join: (success|all) `)
)

// cures offers the edits that the messages of findings name.
func (s *server) cures(_ context.Context, in askedActions) ([]action, error) {
	t, open := s.open.get(in.TextDocument.URI)
	actions := []action{}
	if !open {
		return actions, nil
	}
	for _, f := range t.found {
		if f.line < in.Range.Start.Line || f.line > in.Range.End.Line || f.line >= len(t.lines) {
			continue
		}
		for _, each := range t.edits(f) {
			made := action{Title: each.title, Kind: "quickfix", Diagnostics: []diagnostic{s.diagnostic(t, f)}}
			made.Edit.Changes = map[string][]textEdit{t.uri: {{s.encoding.ranged(f.line, t.lines[f.line], each.begin, each.end), each.text}}}
			actions = append(actions, made)
		}
	}
	return actions, nil
}

// replacement replaces bytes of a line.
type replacement struct {
	title, text string
	begin, end  int
}

// edits are the edits that a finding's message names.
func (t text) edits(f finding) (all []replacement) {
	line := t.lines[f.line]
	if meant := meantPattern().FindStringSubmatch(f.Message); meant != nil {
		name := strings.TrimSpace(meant[1])
		wrong := quotedPattern().FindStringSubmatch(strings.SplitN(f.Message, "did you mean", 2)[0])
		if wrong != nil {
			at := strings.Index(line[min(f.begin, len(line)):], wrong[1])
			if at >= 0 {
				at += f.begin
			} else {
				at = strings.Index(line, wrong[1])
			}
			if at >= 0 {
				begin, end := at, at+len(wrong[1])
				if strings.Contains(name, ".") { // the whole access
					begin, _ = wordAt(line, at)
				}
				all = append(all, replacement{"write " + name, name, begin, end})
			}
		}
	}
	for _, safe := range safePattern().FindAllString(f.Message, 2) {
		plain := strings.ReplaceAll(safe, "?.", ".")
		if at := strings.Index(line, plain); at >= 0 && !strings.Contains(line, safe) {
			all = append(all, replacement{"write " + safe, safe, at, at + len(plain)})
		}
	}
	if joinPattern().MatchString(f.Message) {
		indent := strings.Repeat(" ", rowOf(line).at)
		for _, join := range []string{"success", "all"} {
			all = append(all, replacement{"add join: " + join, "\n" + indent + "join: " + join, len(line), len(line)})
		}
	}
	return all
}
