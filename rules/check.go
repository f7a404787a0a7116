package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/fields"
	"savant/internal/pattern"
	"savant/think/check"
)

// Tools is what is published.
type Tools interface {
	// Names returns the names of all tools.
	Names() []string
	// Tool returns what is known of one.
	Tool(name string) (Tool, bool)
}

// Tool has the schemas of a tool's arguments and result; an unknown one is empty.
type Tool struct {
	Input, Output json.RawMessage
	// Own: it is a tool of Savant, whose schemas name every field.
	Own bool
	// ReadOnly: a call changes nothing.
	ReadOnly bool
}

const (
	warning = "warning"
	note    = "note"
)

// Check finds what is wrong with rules before they hold, in the order of their files. A
// diagnostic without a severity is an error.
func Check(set *Set, tools Tools) []fault.Diagnostic {
	c := &checker{set: set, tools: tools, names: tools.Names(), calls: map[string]*check.Type{}}
	for _, file := range set.files {
		c.file(file)
	}
	c.impossible()
	slices.SortStableFunc(c.found, func(a, b fault.Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(c.found)
}

type checker struct {
	set   *Set
	tools Tools
	names []string
	calls map[string]*check.Type // by tool, "" for one that is not known
	found []fault.Diagnostic
}

func (c *checker) at(file *File, code fault.Code, severity, path, format string, args ...any) {
	d := file.layout.Key(code, path, fmt.Sprintf(format, args...))
	d.Severity = severity
	c.found = append(c.found, d)
}

func (c *checker) file(file *File) {
	if file.Foreign {
		c.at(file, fault.YAMLSchemaViolation, warning, "", "it is left out: a file of rules has one of the keys %s", strings.Join(sectionKeys, ", "))
	}
	used := map[string]bool{}
	for _, rule := range file.Rules {
		c.named(file.layout.Key(fault.UnknownTool, rule.path+".before", ""), false, rule.Before...)
		c.named(file.layout.Key(fault.UnknownTool, rule.path+".except", ""), false, rule.Except...)
		for _, each := range rule.evidence() {
			used[each.name] = true
		}
		c.rule(rule)
	}
	for _, each := range file.success {
		c.named(file.layout.Key(fault.UnknownTool, fields.Join(file.at, "success."+each.tool), ""), false, each.tool)
		c.types(file, each.that.pieces(), []string{each.tool}, each.tool)
	}
	for _, name := range slices.Sorted(maps.Keys(file.evidence)) {
		e := file.evidence[name]
		if !used[name] {
			c.at(file, fault.YAMLSchemaViolation, warning, e.path, "no rule uses the evidence %s", name)
		}
		c.named(file.layout.Key(fault.UnknownTool, e.path, ""), true, slices.Concat(e.tools(), e.since)...)
		c.where(file, e)
		c.types(file, e.pieces(), nil, e.only())
	}
}

// known reports whether a name is of a tool, or a pattern of some. A client's own tools,
// which have no engine in their names, are not listed anywhere.
func (c *checker) known(name string) bool {
	return !strings.Contains(name, ".") || slices.ContainsFunc(c.names, func(tool string) bool { return pattern.Matches(name, tool) })
}

// named reports names that no tool has at a place: a rule about such a tool has no effect. Where
// its call is evidence, the rule could never be met, which is an error if other tools of its engine
// are published; else it may be a tool of another server of the client. A file is told once.
func (c *checker) named(at fault.Diagnostic, evident bool, names ...string) {
	for _, name := range names {
		if c.known(name) {
			continue
		}
		if at.Severity = warning; evident && slices.ContainsFunc(c.names, func(tool string) bool { return engineOf(tool) == engineOf(name) }) {
			at.Severity = ""
		}
		at.Message = fmt.Sprintf("nothing publishes %q%s", fault.Cut(name, 80), fault.NearestHint(": did you mean %q?", name, c.names))
		if !slices.ContainsFunc(c.found, func(d fault.Diagnostic) bool {
			return d.File == at.File && d.Severity == at.Severity && d.Message == at.Message
		}) {
			c.found = append(c.found, at)
		}
	}
}

func (c *checker) where(file *File, e *evidence) {
	tool, known := c.tools.Tool(e.only())
	var schema struct {
		Properties           map[string]json.RawMessage
		AdditionalProperties any
	}
	if !known || json.Unmarshal(tool.Input, &schema) != nil || len(schema.Properties) == 0 || schema.AdditionalProperties == true {
		return
	}
	for _, key := range e.keys {
		if _, takes := schema.Properties[key]; !takes {
			c.at(file, fault.UnresolvedVar, "", e.path+".where."+key, "%s takes no argument %q%s", e.only(), fault.Cut(key, 60), fields.Nearest(key, slices.Sorted(maps.Keys(schema.Properties))))
		}
	}
}

// maxTypes bounds the tools against which one rule is checked.
const maxTypes = 20

func (c *checker) rule(rule *Rule) {
	tools := slices.DeleteFunc(slices.Clone(c.names), func(tool string) bool { return !rule.Guards(tool) })
	c.types(rule.file, rule.pieces(), tools[:min(len(tools), maxTypes)], "")
	for _, each := range rule.pieces() {
		c.lists(each)
	}
	for _, need := range rule.require {
		for _, name := range need.needs {
			c.stale(rule, need, rule.file.evidence[name], tools)
		}
	}
}

// types checks expressions about a call of some tools, and about one of a tool that was made.
func (c *checker) types(file *File, all []piece, tools []string, made string) {
	if len(tools) == 0 { // a client's own
		tools = []string{""}
	}
	for _, tool := range tools {
		names := c.scope(file, all, tool, made)
		for _, each := range all {
			for _, wrong := range check.Expression(each.program, names) {
				d := each.site.Diagnostic(wrong.Code, wrong.Offset-each.shift, wrong.Message)
				d.Severity = wrong.Severity
				c.found = append(c.found, d)
			}
		}
	}
}

// scope returns the types of what some expressions of a file read.
func (c *checker) scope(file *File, all []piece, tool, made string) check.Names {
	facts := check.Names{}
	for name, value := range file.facts {
		facts[name] = check.Value(value)
	}
	calls := check.Names{}
	for _, each := range all {
		for _, read := range each.program.Lists() {
			calls[read.Name] = check.List(c.call(read.Name))
		}
	}
	names := check.Names{rootInput: c.call(tool).Field(rootInput), rootFacts: check.Object("the facts", facts), rootCalls: check.Object("", calls), rootFailed: check.Any(), rootParams: check.Any(), rootState: check.Any(),
		rootCall: check.List(c.call(made)), rootResult: c.call(made).Field(rootResult)}
	for name, e := range file.evidence {
		names[name] = check.Any()
		if only := e.only(); only != "" && len(e.impliedBy) == 0 {
			names[name] = c.call(only)
		}
	}
	return names
}

// call returns the type of a call of a tool.
func (c *checker) call(name string) *check.Type {
	if c.calls[name] == nil {
		tool, _ := c.tools.Tool(name)
		c.calls[name] = check.Call(name, check.Tool{Input: tool.Input, Output: tool.Output, Own: tool.Own})
	}
	return c.calls[name]
}

// lists checks the lists of calls that an expression reads.
func (c *checker) lists(of piece) {
	for _, read := range of.program.Lists() {
		at := of.site.Diagnostic(fault.UnknownTool, read.Offset-of.shift, "")
		c.named(at, true, read.Name)
		switch at.Code, at.Severity = fault.ExpressionError, warning; {
		case read.Depth > 0:
			at.Message = "a list of calls is read for each item of another one: name the inner call as evidence"
		case read.Function == "any" && read.Results:
			at.Message = fmt.Sprintf("any accepts a call of %s that a later one contradicts: name the last one as evidence", read.Name)
		default:
			continue
		}
		c.found = append(c.found, at)
	}
}

// stale notes that a value which was read may have been changed by the guarded call.
func (c *checker) stale(rule *Rule, need requirement, e *evidence, guarded []string) {
	read, known := c.tools.Tool(e.only())
	if !known || !read.ReadOnly || need.that == nil || len(e.since) > 0 || e.within > 0 {
		return
	}
	for _, tool := range guarded {
		of, _ := c.tools.Tool(tool)
		if !of.ReadOnly && engineOf(tool) == engineOf(e.only()) {
			c.at(rule.file, fault.ExpressionError, note, need.path, "%s may be read before and used after a call of %s: since: %s makes it be read again", e.name, tool, tool)
			return
		}
	}
}

func engineOf(tool string) string {
	engine, _, _ := strings.Cut(tool, ".")
	return engine
}

// impossible reports tools that no sequence of calls makes callable: each needs a call
// that is itself forbidden, or needs, in the end, the tool.
func (c *checker) impossible() {
	possible, blocked := map[string]bool{}, map[string]blocker{}
	all := slices.DeleteFunc(append(c.set.Spelled(), c.names...), isPattern)
	slices.Sort(all)
	all = slices.Compact(all)
	for changed := true; changed; {
		changed = false
		for _, tool := range all {
			if possible[tool] {
				continue
			}
			by, is := c.blocked(tool, possible)
			if blocked[tool] = by; !is {
				possible[tool], changed = true, true
			}
		}
	}
	for _, tool := range all {
		by := blocked[tool]
		if possible[tool] || by.rule == nil || by.needs == "" {
			continue
		}
		way := []string{tool}
		for at := by; at.needs != "" && !slices.Contains(way, at.needs); at = blocked[at.needs] {
			way = append(way, at.needs)
		}
		end := blocked[way[len(way)-1]]
		switch {
		case end.needs == "":
			c.at(by.rule.file, fault.CyclicDependency, "", by.rule.path, "rule %s can never be met: %s needs %s, and rule %s forbids every call of %s",
				by.rule.ID, tool, strings.Join(way[1:], ", which needs "), end.rule.ID, way[len(way)-1])
		default:
			c.at(by.rule.file, fault.CyclicDependency, "", by.rule.path, "rule %s can never be met: %s, which needs %s",
				by.rule.ID, strings.Join(way, " needs "), end.needs)
		}
	}
}

// blocker is why a tool cannot be called: a rule, and the call that it needs, "" where it
// forbids the tool.
type blocker struct {
	rule  *Rule
	needs string
}

// blocked reports whether a rule without a condition of its own stops every call of a
// tool, as long as only some tools can be called.
func (c *checker) blocked(tool string, possible map[string]bool) (blocker, bool) {
	for _, rule := range c.set.Guards(tool) {
		if rule.when != nil || rule.Warn {
			continue
		}
		if rule.deny {
			return blocker{rule, ""}, true
		}
		for _, providers := range rule.providers() {
			if !slices.ContainsFunc(providers, func(name string) bool {
				return possible[name] || isPattern(name)
			}) {
				return blocker{rule, providers[0]}, true
			}
		}
	}
	return blocker{}, false
}

// providers returns, for each call that a rule cannot do without, the tools that give it.
func (r *Rule) providers() [][]string {
	var all [][]string
	for _, each := range r.require {
		for _, name := range each.needs {
			e := r.file.evidence[name]
			all = append(all, e.tools())
		}
		if each.that == nil || each.that.Or {
			continue
		}
		for _, leaf := range append(slices.Clone(each.that.Parts), each.that.Condition) {
			if len(leaf.Parts) == 0 && strings.HasPrefix(leaf.String(), "any("+rootCalls) {
				all = append(all, []string{leaf.Programs()[0].Lists()[0].Name})
			}
		}
	}
	return all
}
