package lsp

import (
	"cmp"
	"slices"
	"strings"

	"savant/think/check"
)

// scope returns the types of what an expression at a place reads, as the last text had them
// that could be compiled.
func (s *server) scope(t text, p cursor) check.Scope {
	if t.kind == ofRules {
		return s.scopeOfRule(t, p)
	}
	if t.graph == nil {
		return check.Scope{}
	}
	scope := check.ScopeOf(t.graph, s.tool)
	step := p.siblings[2]
	if list := strings.Trim(step["foreach"], "{} "); list != "" {
		if of := typeOf(scope, accessOf(list)); of != nil {
			scope.Captures[cmp.Or(step["as"], "item")] = of.Item()
		}
	}
	if last := p.path[max(0, len(p.path)-1):]; len(last) > 0 && last[0] == "extract" {
		scope.Captures["result"] = s.call(step["call"]).Field("result")
	}
	return scope
}

func (s *server) tool(name string) (check.Tool, bool) {
	tool, known := s.project.Tool(name)
	return check.Tool{Input: tool.Input, Output: tool.Output, Own: tool.Own}, known
}

// call returns the type of a call of a tool.
func (s *server) call(name string) *check.Type {
	tool, _ := s.tool(name)
	return check.Call(name, tool)
}

// scopeOfRule returns what the expressions of a file of rules read: the input of the call
// that the rule or the evidence is about, the evidence, the facts and all calls.
func (s *server) scopeOfRule(t text, p cursor) check.Scope {
	scope := check.Scope{Captures: map[string]*check.Type{}}
	facts := check.Names{}
	for _, each := range keysBelow(t.lines, "facts") {
		facts[each.name] = check.Any()
	}
	for _, each := range keysBelow(t.lines, "evidence") {
		scope.Captures[each.name] = s.call(t.valueOf("evidence", each.name, "last"))
	}
	about := s.call(strings.Trim(cmp.Or(p.siblings[2]["before"], p.siblings[2]["last"]), "[] "))
	scope.Captures["input"], scope.Captures["result"] = about.Field("input"), about.Field("result")
	scope.Captures["facts"] = check.Object("the facts", facts)
	if t.graph != nil { // the rules of a workflow read its runs
		run := check.ScopeOf(t.graph, s.tool)
		scope.Captures["params"], scope.Captures["state"] = check.Object("the parameters of the run", run.Params), check.Object("the captures", run.Captures)
	}
	scope.Captures["calls"], scope.Captures["failed"] = check.List(s.call("")), check.List(s.call(""))
	return scope
}

// keysBelow are the keys of the mapping of a key of the root, and where they stand.
func keysBelow(text lines, root string) (found []declared) {
	inside, indent := false, -1
	for number, line := range text {
		switch r := rowOf(line); {
		case r.blank():
		case r.at == 0:
			if inside, indent = r.key == root, -1; inside {
				for _, at := range entryPattern().FindAllStringSubmatchIndex(outermost(r.value), -1) {
					found = append(found, declared{name: r.value[at[2]:at[3]], line: number, begin: r.from + at[2], end: r.from + at[3]})
				}
			}
		case inside && (indent < 0 || r.at == indent) && r.key != "":
			indent = r.at
			found = append(found, declared{name: r.key, line: number, begin: r.at, end: r.at + len(r.key)})
		}
	}
	return found
}

// lineOfKey returns where a key of the mapping of a key of the root stands.
func lineOfKey(text lines, root, name string) (found declared, ok bool) {
	all := keysBelow(text, root)
	at := slices.IndexFunc(all, func(each declared) bool { return each.name == name })
	if at < 0 {
		return declared{}, false
	}
	return all[at], true
}

// valueOf returns the plain value of a key in the mapping of root.name.
func (t text) valueOf(root, name, key string) string {
	at, ok := lineOfKey(t.lines, root, name)
	if !ok {
		return ""
	}
	r := rowOf(t.lines[at.line])
	if strings.HasPrefix(r.value, "{") {
		return entries(r.value)[key]
	}
	for _, line := range t.lines[at.line+1:] {
		below := rowOf(line)
		if !below.blank() && below.at <= at.begin {
			break
		}
		if below.key == key {
			return plain(below.value)
		}
	}
	return ""
}

// accessOf takes an access such as state.a?.b apart.
func accessOf(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "?", ""), ".")
}

// itemAround returns the type of the items of the list that the function takes in whose
// predicate a text ends: of map(files, #. It is nil outside a predicate.
func itemAround(text string, scope check.Scope) *check.Type {
	depth, comma := 0, -1
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')', ']', '}':
			depth++
		case '[', '{':
			depth--
		case ',':
			if depth == 0 {
				comma = i
			}
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			if comma < 0 { // of another call within the predicate
				depth = 0
				continue
			}
			if list := typeOf(scope, accessOf(strings.TrimSpace(text[i+1:comma]))); list != nil {
				return list.Item()
			}
			return nil
		}
	}
	return nil
}
