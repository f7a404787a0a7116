package lsp

import (
	"context"
	"slices"
	"strings"

	"savant/think/check"
	"savant/think/flow/expression"
)

// candidate is something that could be written.
type candidate struct {
	label, detail string
	kind          int
}

// maxCandidates bounds what a completion offers.
const maxCandidates = 500

func (s *server) complete(_ context.Context, in atPosition) (completions, error) {
	none := completions{Items: []completion{}}
	t, open := s.open.get(in.TextDocument.URI)
	if !open || in.Position.Line < 0 || in.Position.Line >= len(t.lines) {
		return none, nil
	}
	line := t.lines[in.Position.Line]
	at := s.encoding.offset(line, in.Position.Character)
	t, p := rulesWithin(t, placeAt(t.lines, in.Position.Line, at))
	found := s.candidates(t, p)
	begin, _ := wordAt(line[:at], at)
	if p.readsExpression(t.kind) { // only the last name of an access is replaced
		begin += strings.LastIndexAny(line[begin:at], ".?") + 1
	}
	none.IsIncomplete = len(found) > maxCandidates
	for _, each := range found[:min(len(found), maxCandidates)] {
		none.Items = append(none.Items, completion{Label: each.label, Kind: each.kind, Documentation: each.detail,
			TextEdit: textEdit{s.encoding.ranged(in.Position.Line, line, begin, at), each.label}})
	}
	return none, nil
}

// rulesWithin returns a place in the rules of a workflow as one in a file of rules, and any
// other place as it is.
func rulesWithin(t text, p cursor) (text, cursor) {
	if t.kind != ofWorkflow || len(p.path) == 0 || p.path[0] != "rules" {
		return t, p
	}
	t.kind = ofRules
	if len(p.path) > 1 && p.path[1] == item {
		return t, p
	}
	siblings := map[int]map[string]string{}
	for depth, each := range p.siblings {
		siblings[depth-1] = each
	}
	p.path, p.siblings = p.path[1:], siblings
	inside, indent, below := false, 0, lines{}
	for _, line := range t.lines {
		r := rowOf(line)
		if !r.blank() && r.at == 0 {
			inside = r.key == "rules"
		} else if inside {
			if indent == 0 {
				indent = r.at
			}
			below = append(below, line[min(indent, len(line)):])
		}
	}
	t.lines = below
	return t, p
}

// readsExpression reports whether the cursor is in an expression.
func (p cursor) readsExpression(k kind) bool {
	if p.key {
		return false
	}
	if open := strings.LastIndex(p.before, "{{"); open >= 0 {
		return !strings.Contains(p.before[open:], "}}")
	}
	if k == ofRules && len(p.path) > 2 && (p.path[len(p.path)-1] == "per" || p.path[len(p.path)-2] == "where") {
		return true
	}
	if root := schemaOf(k); root != nil {
		return expressed(root.schemasAt(p.path))
	}
	return false
}

func (s *server) candidates(t text, p cursor) []candidate {
	root := schemaOf(t.kind)
	if root == nil {
		return nil
	}
	if p.readsExpression(t.kind) {
		return s.names(t, p)
	}
	if found := s.special(t, p); found != nil {
		return found
	}
	here := root.schemasAt(p.path)
	var found []candidate
	if p.key {
		depth := len(p.path)
		for name, meaning := range keys(here) {
			if _, written := p.siblings[depth][name]; !written || strings.HasSuffix(p.before, name) {
				found = append(found, candidate{name, meaning, kindProperty})
			}
		}
	} else {
		found = named(values(here), kindValue)
	}
	return inOrder(found)
}

func inOrder(all []candidate) []candidate {
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.label, b.label) })
	return slices.Compact(all)
}

// special are the names of steps, tools, arguments and workflows; nil where none belongs.
func (s *server) special(t text, p cursor) []candidate {
	path := strings.Join(p.path, " ")
	switch t.kind {
	case ofWorkflow:
		step := p.siblings[2]
		switch {
		case path == "steps [] call":
			work := slices.DeleteFunc(s.tools(), func(each candidate) bool { // validate refuses the others
				return strings.HasPrefix(each.label, "think.") || strings.HasPrefix(each.label, "agent.")
			})
			return append(work, named(values(schemaOf(ofWorkflow).schemasAt([]string{"steps", item, "call"})), kindFunction)...)
		case path == "steps [] deps" || path == "steps [] deps []":
			return candidatesOf(stepLines(t.lines), kindVariable)
		case path == "steps [] input_template" && p.key:
			return s.arguments(step["call"])
		case path == "steps [] input_template workflow":
			return named(s.engine.Library.Names(), kindModule)
		}
	case ofCases:
		if path == "workflow" {
			return named(s.engine.Library.Names(), kindModule)
		}
		under := len(p.path) > 2 && (p.path[2] == "answers" || len(p.path) > 3 && p.path[2] == "expect" &&
			slices.Contains([]string{"ran", "skipped", "failed", "issued", "asked", "rounds"}, p.path[3]))
		if under && (p.key && len(p.path) <= 4 || !p.key && p.path[2] == "expect") {
			return s.tested(t)
		}
		if p.key && len(p.path) == 3 && p.path[2] == "params" {
			return s.parameters(t)
		}
	case ofRules:
		if last := p.path[max(0, len(p.path)-2):]; !p.key && len(last) > 0 &&
			slices.ContainsFunc(last, func(key string) bool {
				return slices.Contains([]string{"before", "except", "last", "implied_by", "since", "call", "tool"}, key)
			}) {
			return s.tools()
		}
		if slices.Contains(p.path[max(0, len(p.path)-2):], "needs") && !p.key {
			return candidatesOf(keysBelow(t.lines, "evidence"), kindField)
		}
		if len(p.path) == 3 && p.path[2] == "where" && p.key {
			return s.arguments(p.siblings[2]["last"])
		}
	}
	return nil
}

// tools are all tools.
func (s *server) tools() (found []candidate) {
	for _, each := range s.project.Names() {
		found = append(found, candidate{each, s.project.Describe(each), kindFunction})
	}
	return found
}

// named makes candidates of names, without a description.
func named(names []string, kind int) (found []candidate) {
	for _, each := range names {
		found = append(found, candidate{each, "", kind})
	}
	return found
}

// candidatesOf are the things that a text declares, also one that is half written.
func candidatesOf(all []declared, kind int) (found []candidate) {
	for _, each := range all {
		found = append(found, candidate{each.name, each.detail, kind})
	}
	return found
}

// arguments are those of a tool.
func (s *server) arguments(tool string) []candidate {
	known, _ := s.project.Tool(tool)
	declared := parsedSchema(known.Input)
	if declared == nil {
		return nil
	}
	found := []candidate{}
	for name, meaning := range keys(declared.schemasAt(nil)) {
		found = append(found, candidate{name, meaning, kindField})
	}
	return inOrder(found)
}

// tested are the steps of the workflow that cases test.
func (s *server) tested(t text) (found []candidate) {
	if t.graph == nil {
		return nil
	}
	for _, step := range t.graph.Workflow.Steps {
		found = append(found, candidate{step.ID, step.Call, kindVariable})
	}
	return found
}

func (s *server) parameters(t text) (found []candidate) {
	if t.graph == nil {
		return nil
	}
	for _, each := range t.graph.Workflow.Params {
		found = append(found, candidate{each.Name, "", kindField})
	}
	return found
}

// names are what an expression can say next: behind an access its fields, else what can
// be read at all.
func (s *server) names(t text, p cursor) []candidate {
	begin, end := wordAt(p.before, len(p.before))
	access := strings.Split(strings.ReplaceAll(p.before[begin:end], "?", ""), ".")
	access = access[:len(access)-1]
	scope := s.scope(t, p)
	if len(access) > 0 && (access[0] == "" || access[0] == "#") {
		return fieldsOf(fieldOf(itemAround(strings.TrimSuffix(p.before[:begin], "#"), scope), access[1:]))
	}
	switch {
	case len(access) == 0 && t.kind == ofRules:
		return append(named(expression.Functions(), kindFunction), typedCandidates(scope.Captures)...)
	case t.kind == ofRules:
		return fieldsOf(fieldOf(scope.Captures[access[0]], access[1:]))
	case len(access) == 0:
		found := []candidate{{"params", "the parameters of the run", kindVariable}, {"state", "the captures", kindVariable}, {"steps", "status, error and reason of a step", kindVariable},
			{"run", "id, status and failed steps of the run", kindVariable}, {"loop", "index, length, first and last of the loop", kindVariable}}
		found = append(append(found, named(expression.Functions(), kindFunction)...), typedCandidates(scope.Captures)...)
		return inOrder(append(found, typedCandidates(scope.Params)...))
	case len(access) == 1 && access[0] == "steps":
		return candidatesOf(stepLines(t.lines), kindVariable)
	case len(access) == 2 && access[0] == "steps":
		return []candidate{{"error", "code, details and attempts; null unless it failed", kindField}, {"last", "the last round of an exhausted repeat", kindField},
			{"reason", "why it was skipped; null unless it was", kindField}, {"status", "done, skipped or failed", kindField}}
	case len(access) == 1 && access[0] == "state":
		return typedCandidates(scope.Captures)
	case len(access) == 1 && access[0] == "params":
		return typedCandidates(scope.Params)
	}
	return fieldsOf(typeOf(scope, access))
}

// fieldsOf are the fields of a type, none where nothing is known.
func fieldsOf(of *check.Type) []candidate {
	found := []candidate{}
	if of != nil {
		for _, each := range of.Fields() {
			found = append(found, candidate{each, of.Field(each).String(), kindField})
		}
	}
	return found
}

func typedCandidates(all map[string]*check.Type) []candidate {
	found := []candidate{}
	for _, each := range sorted(all) {
		found = append(found, candidate{each, all[each].String(), kindField})
	}
	return found
}

// typeOf returns the type of an access, such as state.a.b; nil if nothing is known.
func typeOf(scope check.Scope, access []string) *check.Type {
	var of *check.Type
	switch {
	case len(access) > 1 && access[0] == "state":
		of, access = scope.Captures[access[1]], access[2:]
	case len(access) > 1 && access[0] == "params":
		of, access = scope.Params[access[1]], access[2:]
	case len(access) > 0:
		if of = scope.Captures[access[0]]; of == nil {
			of = scope.Params[access[0]]
		}
		access = access[1:]
	}
	return fieldOf(of, access)
}

// fieldOf follows fields, from nil to nil.
func fieldOf(of *check.Type, names []string) *check.Type {
	for _, each := range names {
		if of == nil {
			return nil
		}
		of = of.Field(each)
	}
	return of
}
