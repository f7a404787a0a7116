package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/fields"
	"savant/think/flow"
)

// Cases are the cases of one file.
type Cases struct {
	Path  string
	Cases []Case
}

// Case is a sequence of calls in one session, with what the rules say about them.
type Case struct {
	Name  string
	Steps []Step
	// File has the case's own rules, nil where it is about those beside it.
	File *File

	path string
}

// Step is one call of a case. It is made where it is not refused.
type Step struct {
	Tool         string
	Input        map[string]any
	Result       any
	Failed       bool
	Unknown      bool
	Session      string
	Expect, Rule string
	// After is the time that passed before the step, in milliseconds.
	After        int64
	Line, Column int
}

// Expectations are what a step can expect.
var Expectations = []string{"allow", "refuse", "error", string(Missing), string(NotMet), string(NotJudged), string(Denied), string(Approve)}

// ParseCases reads a file of cases: a list of {name, rules, steps}, or a map with it
// under cases.
func ParseCases(file string, src []byte) (*Cases, error) {
	value, layout, err := flow.ReadYAMLLayout(file, src)
	if err != nil {
		return nil, err
	}
	p := newParser(file, "", layout)
	at := ""
	if top, is := value.(map[string]any); is {
		p.Object(value, "", "cases")
		value, at = top["cases"], "cases"
	}
	list, is := value.([]any)
	if !is || len(list) == 0 {
		p.Fail(at, "a file of cases is a list of {name, steps}")
	}
	cases := &Cases{Path: file}
	for i, each := range list {
		cases.Cases = append(cases.Cases, p.oneCase(each, fmt.Sprintf("%s[%d]", at, i)))
	}
	return cases, p.Failure()
}

func (p *parser) oneCase(value any, at string) Case {
	shape := p.Object(value, at, append([]string{"name", "description", "steps"}, sectionKeys...)...)
	made := Case{path: p.file.Path, Name: p.Text(shape, at, "name")}
	if shape["rules"] != nil {
		own := map[string]any{}
		for _, key := range sectionKeys {
			if shape[key] != nil {
				own[key] = shape[key]
			}
		}
		file, err := parse(p.file.Path, at, own, p.layout)
		if err != nil {
			p.Wrong = append(p.Wrong, fault.From(err).Diagnostics...)
		}
		made.File = file
	}
	steps, is := shape["steps"].([]any)
	if !is {
		p.Fail(at, "a case needs steps: a list of calls")
	}
	for i, each := range steps {
		made.Steps = append(made.Steps, p.step(each, fmt.Sprintf("%s.steps[%d]", at, i)))
	}
	return made
}

func (p *parser) step(value any, at string) Step {
	shape := p.Object(value, at, "tool", "input", "result", "ok", "outcome", "session", "after", "expect", "rule")
	place := p.layout.Key("", at, "")
	step := Step{Tool: p.Text(shape, at, "tool"), Input: p.Members(shape["input"], at+".input"), Result: shape["result"],
		Session: p.Text(shape, at, "session"), Expect: p.Text(shape, at, "expect"), Rule: p.Text(shape, at, "rule"), Line: place.Line, Column: place.Column}
	if step.Tool == "" {
		p.Fail(at, "a step needs tool: the name of the tool that is called")
	}
	ok, is := shape["ok"].(bool)
	if step.Failed = is && !ok; !is && shape["ok"] != nil {
		p.Fail(at+".ok", "ok is true or false")
	}
	switch outcome := p.Text(shape, at, "outcome"); outcome {
	case "", "known":
	case "unknown":
		step.Unknown = true
	default:
		p.Fail(at+".outcome", "outcome is unknown, or left out")
	}
	if after := p.Text(shape, at, "after"); after != "" {
		if step.After = milliseconds(after); step.After == 0 {
			p.Fail(at+".after", "after is a time such as 90s, 30m, 24h or 7d")
		}
	}
	if step.Expect != "" && !slices.Contains(Expectations, step.Expect) {
		p.Fail(at+".expect", "expect is not %q%s", fault.Cut(step.Expect, 60), fields.Nearest(step.Expect, Expectations))
	}
	return step
}

// Coverage says of which rules a test saw both: that a call was refused or asked for,
// and that one was let pass.
type Coverage map[string]*Seen

// Seen is what tests saw of a rule.
type Seen struct{ Allowed, Refused bool }

// Run makes the calls of a case one after another and returns the steps that did not go
// as expected. set are the rules beside the file, for a case without its own.
func (c Case) Run(set *Set, coverage Coverage) []fault.Diagnostic {
	if c.File != nil {
		set = New(c.File)
	}
	var failures []fault.Diagnostic
	history, now := NewHistory(set), int64(0)
	for _, step := range c.Steps {
		now += step.After
		call := Call{Tool: step.Tool, Input: step.Input, Session: step.Session, Time: now, Witness: "gateway"}
		if step.Expect != "" {
			verdict := Decide(set, history, call)
			coverage.add(set, verdict)
			if message := step.judge(verdict); message != "" {
				failures = append(failures, fault.Diagnostic{File: c.path, Line: step.Line, Column: step.Column, Code: fault.ValidationFailed, Message: c.Name + ": " + message})
			}
			if verdict.Decision == Refuse {
				history.Refuse(call)
			}
			if verdict.Decision != Allow {
				continue
			}
		}
		made, outcome := history.Reserve(call), OutcomeOf(!step.Failed)
		if step.Unknown {
			outcome = Unknown
		}
		history.Settle(made, outcome, step.Result, "")
	}
	return failures
}

// judge returns what is not as expected, or "".
func (s Step) judge(verdict Verdict) string {
	found := []string{}
	for _, finding := range verdict.Findings {
		for _, part := range finding.Parts {
			if part.State != Held && (s.Rule == "" || s.Rule == finding.Rule.ID) {
				found = append(found, string(part.State))
			}
		}
	}
	holds := slices.Contains(found, s.Expect)
	switch s.Expect {
	case "allow":
		holds = verdict.Decision == Allow
	case "refuse":
		holds = verdict.Decision == Refuse && (s.Rule == "" || len(found) > 0)
	case "error":
		holds = verdict.Decision == Refuse && slices.Contains(found, string(NotJudged))
	}
	if holds {
		return ""
	}
	said := "allow"
	if verdict.Decision != Allow {
		said = strings.Join(slices.Compact(found), ", ")
	}
	message := fmt.Sprintf("expected %s, found %s", s.Expect, said)
	if verdict.Decision == Refuse {
		message += ": " + verdict.Text()
	}
	return message
}

func (c Coverage) add(set *Set, verdict Verdict) {
	if c == nil {
		return
	}
	for _, rule := range set.Guards(verdict.Call.Tool) {
		key := rule.File() + "#" + rule.ID
		if c[key] == nil {
			c[key] = &Seen{}
		}
		if slices.ContainsFunc(verdict.Findings, func(f Finding) bool { return f.Rule == rule }) {
			c[key].Refused = true
		} else {
			c[key].Allowed = true
		}
	}
}

// Unseen returns the rules of a set that no test saw both allow and refuse, with what is
// missing. A rule that forbids every call has nothing to allow.
func (c Coverage) Unseen(set *Set) []fault.Diagnostic {
	var all []fault.Diagnostic
	for _, rule := range set.All() {
		seen, lacks := cmp.Or(c[rule.File()+"#"+rule.ID], &Seen{}), []string{}
		if !seen.Allowed && !(rule.deny && rule.when == nil) {
			lacks = append(lacks, "allow")
		}
		if !seen.Refused {
			lacks = append(lacks, "refuse")
		}
		if len(lacks) > 0 {
			d := rule.file.layout.Key(fault.ValidationFailed, rule.path, fmt.Sprintf("no test saw rule %s %s a call", rule.ID, strings.Join(lacks, " or ")))
			d.Severity = warning
			all = append(all, d)
		}
	}
	return all
}

// Mutate leaves out each part of the rules' conditions, and each call of a case that only
// serves as evidence, and returns the changes that make no difference to any case.
func Mutate(set *Set, cases []Case, path string) []fault.Diagnostic {
	var survivors []fault.Diagnostic
	survives := func(file string, line, column int, format string, args ...any) {
		survivors = append(survivors, fault.Diagnostic{File: file, Line: line, Column: column, Code: fault.ValidationFailed, Message: fmt.Sprintf(format, args...)})
	}
	all := set.Files()
	for _, c := range cases {
		if c.File != nil {
			all = append(all, c.File)
		}
	}
	for _, file := range all {
		for _, each := range file.mutants() {
			if !slices.ContainsFunc(cases, func(c Case) bool { return c.notices(set, file, each.file) }) {
				survives(file.Path, each.rule.Line, each.rule.Column, "rule %s %s", each.rule.ID, each.message)
			}
		}
	}
	slices.SortFunc(survivors, func(a, b fault.Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Message, b.Message))
	})
	for _, c := range cases {
		for i, step := range c.Steps {
			if step.Expect != "" {
				continue
			}
			without := c
			without.Steps = slices.Delete(slices.Clone(c.Steps), i, i+1)
			if len(without.Run(set, nil)) == 0 {
				survives(path, step.Line, step.Column, "case %q: the call of %s makes no difference", c.Name, step.Tool)
			}
		}
	}
	return survivors
}

// notices reports whether the case fails where another file takes the place of one.
func (c Case) notices(set *Set, file, changed *File) bool {
	switch {
	case c.File == file:
		c.File = changed
	case c.File == nil && slices.Contains(set.files, file):
		set = New(append(slices.DeleteFunc(set.Files(), func(f *File) bool { return f == file }), changed)...)
	default:
		return false
	}
	return len(c.Run(set, nil)) > 0
}

// mutation is a file with one condition changed.
type mutation struct {
	file    *File
	rule    *Rule
	message string
}

// mutants returns the file without each need and each part of a condition.
func (f *File) mutants() []mutation {
	var all []mutation
	for i, rule := range f.Rules {
		add := func(message string, change func(*Rule)) {
			file, changed := *f, *rule
			changed.require = slices.Clone(rule.require)
			change(&changed)
			file.Rules = slices.Clone(f.Rules)
			changed.file, file.Rules[i] = &file, &changed
			all = append(all, mutation{&file, rule, message + " makes no difference"})
		}
		for text, when := range rule.when.without() {
			add("when without "+text, func(r *Rule) { r.when = when })
		}
		for k, each := range rule.require {
			for n, name := range each.needs {
				add("without needs "+name, func(r *Rule) { r.require[k].needs = slices.Delete(slices.Clone(each.needs), n, n+1) })
			}
			for text, that := range each.that.without() {
				add("require without "+text, func(r *Rule) { r.require[k].that = that })
			}
		}
	}
	return all
}

// without returns the condition without each of its parts, by the part's text.
func (c *condition) without() map[string]*condition {
	all := map[string]*condition{}
	if c != nil {
		for text, each := range c.Mutants() {
			all[text] = &condition{Condition: each, site: c.site, shift: c.shift}
		}
	}
	return all
}
