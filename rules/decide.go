package rules

import (
	"fmt"
	"slices"
	"strconv"

	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// Decision is what Decide says about a call.
type Decision string

const (
	Allow  Decision = "allow"
	Refuse Decision = "refuse"
	// Ask: a person has to approve the call.
	Ask Decision = "ask"
)

// Verdict is what the rules say about a call.
type Verdict struct {
	Call     Call
	Decision Decision
	// Findings are the rules that are not met, in the order deny, require, at_most,
	// approve; those of a rule that only warns do not count for the decision.
	Findings []Finding
	// Uses are the calls that meet a rule's needs.
	Uses []Use
	// Again counts how often the same call was refused before.
	Again int
}

// Finding is one rule that is not met.
type Finding struct {
	Rule    *Rule
	Message string
	Parts   []Part
	kind    int
}

// Use is a call that served as evidence: its ordinal in its session, and its receipt.
type Use struct {
	Rule     string `json:"rule"`
	Evidence string `json:"evidence"`
	At       int    `json:"at"`
	Receipt  string `json:"receipt,omitempty"`
}

// State says how a part of a rule is met.
type State string

const (
	Held      State = "held"
	Missing   State = "missing"
	NotMet    State = "not_met"
	NotJudged State = "not_judged"
	Denied    State = "denied"
	Approve   State = "approve"
)

// Part is one part of a rule with its values.
type Part struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Text  string `json:"text"`
	// Next is the call that would help.
	Next *Suggestion `json:"next,omitempty"`
	held *found
}

// Suggestion is a call that can be made.
type Suggestion struct {
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"`
}

// Decide judges a call by the rules and the calls before it. It evaluates all rules
// about the tool, and changes nothing.
func Decide(set *Set, history *History, call Call) Verdict {
	guards := set.Guards(call.Tool)
	if len(guards) == 0 {
		return Verdict{Call: call, Decision: Allow}
	}
	verdict := Verdict{Call: call, Decision: Allow, Uses: make([]Use, 0, len(guards))}
	own := history.session(call.Session)
	var file *File
	var judgements []*judgement
	commands := expression.Commands{}
	for _, rule := range guards {
		if file != rule.file {
			file, judgements = rule.file, history.judgements(rule.file, own, call, commands)
		}
		for _, j := range judgements {
			if found := j.rule(rule, &verdict); found != nil {
				verdict.add(*found)
			}
		}
	}
	slices.SortStableFunc(verdict.Findings, func(a, b Finding) int { return a.kind - b.kind })
	if verdict.Decision == Refuse {
		verdict.Again = history.refused[digest(call)]
	}
	return verdict
}

func (v *Verdict) add(found Finding) {
	v.Findings = append(v.Findings, found)
	switch {
	case found.Rule.Warn:
	case found.kind == kindApprove && v.Decision == Allow:
		v.Decision = Ask
	case found.kind != kindApprove:
		v.Decision = Refuse
	}
}

// The kinds of rules in the order in which a verdict names them.
const (
	kindDeny = iota
	kindRequire
	kindLimit
	kindApprove
)

var kindNames = []string{"deny", "require", "at_most", "approve"}

// rule judges one rule; nil means that it is met, or not about this call.
func (j *judgement) rule(rule *Rule, verdict *Verdict) *Finding {
	found := &j.draft
	*found = Finding{Rule: rule, Message: rule.Message, kind: kindApprove, Parts: found.Parts[:0]}
	if rule.when != nil {
		when := j.result(rule.when)
		if when.err != nil {
			found.add(slices.Index(kindNames, rule.Kinds()[0]), j.notJudged("when", rule.when.pieces(), when.err))
			return found.whole()
		}
		if !when.holds {
			return nil
		}
	}
	if rule.deny {
		part := Part{Name: "deny", State: Denied, Text: "this call is forbidden"}
		if rule.when != nil {
			part.Text += " where " + rule.when.String()
		}
		found.add(kindDeny, part)
	}
	for _, each := range rule.require {
		j.requirement(rule, each, found, verdict)
	}
	j.limited(rule, found)
	if rule.approve != nil {
		found.add(kindApprove, j.ask(rule))
	}
	if !slices.ContainsFunc(found.Parts, func(part Part) bool { return part.State != Held }) {
		return nil
	}
	return found.whole()
}

// whole returns a draft as a finding of its own, with its texts.
func (f *Finding) whole() *Finding {
	finding := *f
	finding.Parts = slices.Clone(f.Parts)
	for i, part := range finding.Parts {
		if part.State == Held {
			finding.Parts[i].Text = label(part.held.made)
			if part.held.implied {
				finding.Parts[i].Text += " (implied)"
			}
		}
	}
	return &finding
}

// add adds a part. What is not judged refuses: nobody is asked about it.
func (f *Finding) add(kind int, part Part) {
	f.Parts = append(f.Parts, part)
	if part.State == NotJudged {
		kind = min(kind, kindLimit)
	}
	if part.State != Held {
		f.kind = min(f.kind, kind)
	}
}

// requirement judges what is needed and then, if all is there, the condition.
func (j *judgement) requirement(rule *Rule, of requirement, found *Finding, verdict *Verdict) {
	before, lacking := len(found.Parts), false
	for _, name := range of.needs {
		e := j.file.evidence[name]
		answer := j.evidence(e)
		switch {
		case answer.err != nil:
			found.add(kindRequire, j.notJudged(name, answer.broken, answer.err))
			lacking = true
		case answer.made == nil:
			found.add(kindRequire, j.missing(answer, name, e))
			lacking = true
		default:
			verdict.Uses = append(verdict.Uses, Use{rule.ID, name, answer.made.At, answer.made.ID})
			if slices.ContainsFunc(found.Parts, func(part Part) bool { return part.Name == name }) {
				continue // another requirement needs it, too
			}
			found.add(kindRequire, Part{Name: name, State: Held, held: answer})
		}
	}
	if !lacking && of.that != nil {
		holds, conditions, err := j.holds(of.that)
		switch {
		case err != nil && !holds:
			found.add(kindRequire, j.notJudged("require", of.that.pieces(), err))
		case !holds:
			for _, leaf := range conditions {
				j.notMet(found, leaf)
			}
			j.counting = false
		}
	}
	if of.message != "" && found.Message == rule.Message && slices.ContainsFunc(found.Parts[before:], func(part Part) bool { return part.State != Held }) {
		found.Message = of.message
	}
}

// holds evaluates a condition. Where it is unclear what calls with an unknown outcome do
// to it, it has to hold with them and without; where it does not, what is said of it counts
// them, too.
func (j *judgement) holds(that *condition) (holds bool, conditions []*expression.Condition, err error) {
	first := j.result(that)
	holds, conditions, err = first.holds, first.failed, first.err
	if holds && that.Unclear() {
		j.counting = true
		holds, conditions, err = that.Holds(j.env())
		j.counting = !holds && err == nil
	}
	return holds, conditions, err
}

// result evaluates a condition; one that rules share, once.
func (j *judgement) result(that *condition) result {
	known, is := j.results[that.Condition]
	if !is {
		known.holds, known.failed, known.err = that.Holds(j.env())
	}
	if !is && that.shared {
		j.results[that.Condition] = known
	}
	return known
}

// limited judges at_most and once.
func (j *judgement) limited(rule *Rule, found *Finding) {
	if rule.limit == nil {
		return
	}
	use, err := j.use(rule)
	if err != nil {
		found.add(kindLimit, j.notJudged("per", []piece{rule.limit.per}, err))
		return
	}
	since := int64(-1 << 62)
	if rule.limit.within > 0 {
		since = j.call.Time - rule.limit.within
	}
	count, last := use.ledger.usedSince(use.key, since, rule.limit.most)
	if count >= rule.limit.most {
		text := "at most " + strconv.Itoa(rule.limit.most)
		if rule.limit.per.program != nil {
			text += " for each " + rule.limit.per.program.Source()
		}
		text += "; the last was " + label(last)
		if rule.limit.within > 0 {
			text += fmt.Sprintf(", %d seconds ago of %d", (j.call.Time-last.Time)/1000, rule.limit.within/1000)
		}
		found.add(kindLimit, Part{Name: "at_most", State: NotMet, Text: text})
	}
}

// use returns what the call would use up of a limit.
func (j *judgement) use(rule *Rule) (use, error) {
	made := use{ledger: j.own, key: rule.file.Path + "\x00" + rule.ID + "\x00" + j.run.ID} // of a workflow, each run anew
	if rule.limit.project {
		made.ledger = j.history.project
	}
	if rule.limit.per.program == nil {
		return made, nil
	}
	value, err := rule.limit.per.program.Eval(j.env())
	made.key += "\x00" + encoded(value)
	return made, err
}

// uses returns what a call uses up of all limits about it.
func (h *History) uses(call Call, own *ledger) []use {
	var all []use
	for _, rule := range h.set.Guards(call.Tool) {
		if rule.limit == nil {
			continue
		}
		for _, j := range h.judgements(rule.file, own, call, nil) {
			if rule.when != nil {
				if when := j.result(rule.when); when.err != nil || !when.holds {
					continue
				}
			}
			if use, err := j.use(rule); err == nil {
				all = append(all, use)
			}
		}
	}
	return all
}

// ask returns the question that a person has to answer.
func (j *judgement) ask(rule *Rule) Part {
	question, err := rule.approve.Render(j.env())
	if err != nil {
		return j.notJudged("approve", []piece{{site: rule.question}}, err)
	}
	text, is := question.(string)
	if !is {
		data, _ := jsonvalue.Encode(question)
		text = string(data)
	}
	if j.tellsSecret(rule.approve.References()) {
		text = "Rule " + rule.ID + " asks for approval."
	}
	return Part{Name: "approve", State: Approve, Text: text}
}
