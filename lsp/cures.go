package lsp

import (
	"context"
	"slices"
	"strings"

	"savant/internal/pattern"
)

var (
	meantPattern  = pattern.Lazy("did you mean \"?([^\"?,;]+)\"?")
	quotedPattern = pattern.Lazy(`"([^"]+)"`)
	safePattern   = pattern.Lazy(`[\w#.?\[\]"-]*\?\.[\w.?]+`)
	joinPattern   = pattern.Lazy(`write join: (success|all) `)
)

// maxTried bounds the edits that are tried for one request.
const maxTried = 20

// cures offers the edits that the messages of findings name, each if what it is about is
// gone after it.
func (s *server) cures(ctx context.Context, in askedActions) ([]action, error) {
	t, open := s.open.get(in.TextDocument.URI)
	actions := []action{}
	if !open {
		return actions, nil
	}
	tried := 0
	for _, f := range t.found {
		if f.line < in.Range.Start.Line || f.line > in.Range.End.Line || f.line >= len(t.lines) {
			continue
		}
		for _, each := range t.edits(f) {
			if tried++; tried > maxTried || !s.cured(ctx, t, f, each) {
				continue
			}
			made := action{Title: each.title, Kind: "quickfix", Diagnostics: []diagnostic{s.diagnostic(t, f)}}
			made.Edit.Changes = map[string][]textEdit{t.uri: {{s.encoding.ranged(f.line, t.lines[f.line], each.begin, each.end), each.text}}}
			actions = append(actions, made)
		}
	}
	return actions, nil
}

// cured reports whether a finding is gone after an edit, and its line has no other error.
func (s *server) cured(ctx context.Context, t text, f finding, by replacement) bool {
	changed := slices.Clone(t.lines)
	line := changed[f.line]
	changed[f.line] = line[:by.begin] + by.text + line[by.end:]
	t.content = strings.Join(changed, "\n")
	known, same := map[string]bool{}, 0
	for _, each := range t.found {
		known[each.Message] = true
		if each.line == f.line && each.Message == f.Message {
			same++ // the line may have the mistake twice
		}
	}
	for _, each := range s.judged(ctx, t) {
		switch {
		case each.Line != f.line+1:
		case each.Message == f.Message:
			same--
		case !known[each.Message] && each.Severity == "":
			return false
		}
	}
	return same > 0
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
		name, wrong := strings.TrimSpace(meant[1]), line[f.begin:f.end]
		before, _, _ := strings.Cut(f.Message, "did you mean")
		if named := quotedPattern().FindStringSubmatch(before); named != nil {
			wrong = named[1]
		}
		at := f.begin + strings.Index(line[f.begin:], wrong)
		if at < f.begin {
			at = strings.Index(line, wrong)
		}
		if at >= 0 {
			begin, end := at, at+len(wrong)
			if strings.Contains(name, ".") { // the whole access
				begin, _ = wordAt(line, at)
			}
			all = append(all, replacement{"write " + name, name, begin, end})
		}
	}
	for _, safe := range safePattern().FindAllString(f.Message, 2) {
		plain := strings.ReplaceAll(safe, "?.", ".")
		if at := strings.Index(line, plain); at >= 0 && !strings.Contains(line, safe) {
			all = append(all, replacement{"write " + safe, safe, at, at + len(plain)})
		}
	}
	if joinPattern().MatchString(f.Message) {
		r := rowOf(line)
		indent := strings.Repeat(" ", r.at)
		for _, join := range []string{"success", "all"} {
			if strings.HasPrefix(r.value, "{") && r.key == "" { // the step is in braces
				all = append(all, replacement{"add join: " + join, "join: " + join + ", ", r.from + 1, r.from + 1})
				continue
			}
			all = append(all, replacement{"add join: " + join, "\n" + indent + "join: " + join, len(line), len(line)})
		}
	}
	return all
}
