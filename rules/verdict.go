package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// maxText bounds the text of a refusal, in bytes, and maxShown that of a value in it.
const (
	maxText  = 600
	maxShown = 60
	maxParts = 50
)

// label names a call in a text: bank.login #3.
func label(made *Made) string { return made.Tool + " #" + strconv.Itoa(made.At) }

func shown(value any) string { return fault.Cut(encoded(value), maxShown) }

// missing explains evidence that is not there, and names the call that would help.
func (j *judgement) missing(f *found, name string, e *evidence) Part {
	part := Part{Name: name, State: Missing}
	if f.lacks != "" {
		part.Text = f.lacks + " is not given"
		return part
	}
	next, secret := Suggestion{Tool: j.own.called(e.last), Input: map[string]any{}}, e.only() == "" && len(e.keys) == 0
	part.Text = "call " + next.Tool + " first"
	for i, key := range e.keys {
		next.Input[key] = f.values[i]
		secret = secret || e.values[i].program != nil && j.tellsSecret(e.values[i].program.References())
	}
	if !secret {
		part.Next, part.Text = &next, "call "+next.String()+" first"
	}
	if f.why != "" {
		part.Text += "; " + f.why
	}
	return part
}

// called returns which of some tools the session has called, else the first one.
func (l *ledger) called(tools []string) string {
	known := l.toolsOf(tools)
	at := slices.IndexFunc(known, func(tool string) bool { return l.lists[listKey{tool: tool}] != nil })
	if at < 0 {
		return tools[0]
	}
	return known[at]
}

// String returns the call as a text: clock.now {}.
func (s Suggestion) String() string { return s.Tool + " " + encoded(s.Input) }

// notJudged says for the author where expressions at one place could not be computed.
func (j *judgement) notJudged(name string, of []piece, err error) Part {
	wrong := expressionError(err)
	message := wrong.Message
	if wrong.Exceeded {
		message = "HISTORY_TOO_LONG: " + message
	}
	if slices.ContainsFunc(of, func(each piece) bool {
		return each.program == nil && len(j.file.secret) > 0 || each.program != nil && j.tellsSecret(each.program.References())
	}) {
		message = "it cannot be computed with a secret fact"
	}
	at := of[0].site.Diagnostic(wrong.Code, wrong.Offset-of[0].shift, message)
	return Part{Name: name, State: NotJudged, Text: fmt.Sprintf("%s:%d:%d: %s", at.File, at.Line, at.Column, fault.Cut(message, 200))}
}

// mirrored are the operators with their sides exchanged.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// notMet explains a part of a condition that gave false. It takes the place of what was
// said of the evidence that it reads.
func (j *judgement) notMet(found *Finding, leaf *expression.Condition) {
	part := Part{Name: "require", State: NotMet, Text: leaf.String() + " is false"}
	left, right := leaf.References()
	a, b, compared := j.sides(leaf, left, right)
	made, name := j.subject(left)
	operator := leaf.Operator
	if made == nil {
		if made, name = j.subject(right); made != nil {
			a, b, operator = b, a, mirrored[operator]
		}
	}
	switch {
	case compared && made != nil:
		part.Name, part.Text = name, fmt.Sprintf("%s gave %s; needed: %s %s", label(made), a, operator, b)
	case compared:
		part.Text = fmt.Sprintf("%s: found %s, needed: %s %s", leaf.String(), a, operator, b)
	}
	j.help(&part, leaf.Programs()[0], leaf, made)
	found.Parts = slices.DeleteFunc(found.Parts, func(each Part) bool { return each.Name == part.Name && each.State == Held })
	found.add(kindRequire, part)
}

// help says which call can make a part of a condition hold: one that was not made yet, or
// another one of the evidence. Nothing can where the part reads the arguments alone.
func (j *judgement) help(part *Part, program *expression.Program, leaf *expression.Condition, made *Made) {
	for _, each := range program.References() {
		if e := j.file.evidence[each.Root]; e != nil && j.evidence(e).made == nil {
			missing := j.missing(j.evidence(e), e.name, e)
			part.Next, part.Text = missing.Next, part.Text+"; "+missing.Text
			return
		}
	}
	switch {
	case made != nil:
		part.Text += " (only another call of " + made.Tool + " can help)"
	case slices.ContainsFunc(program.References(), func(each expression.Reference) bool { return each.Root == rootState }):
		part.Text += " (as the run stands)"
	case len(program.Lists()) == 0:
		part.Text += " (final for these arguments)"
	case !j.tellsSecret(program.References()):
		asked := *j
		asked.wanted = &part.Next
		_, _, _ = leaf.Holds(asked.env()) // it is false, as before
		if part.Next != nil {
			part.Text += "; call " + part.Next.String() + " first"
		}
	}
}

// sides returns what the sides of a comparison gave, as texts.
func (j *judgement) sides(leaf *expression.Condition, left, right []expression.Reference) (a, b string, compared bool) {
	x, y, compared := leaf.Sides(j.env())
	return j.side(x, left), j.side(y, right), compared
}

// side returns what a side of a comparison gave. Of a call as a whole, a rule names no part that
// may be shown.
func (j *judgement) side(value any, reads []expression.Reference) string {
	whole := func(each expression.Reference) bool { return each.Name == "" && j.file.evidence[each.Root] != nil }
	switch {
	case j.tellsSecret(reads):
		return "a secret"
	case value != nil && slices.ContainsFunc(reads, whole):
		return "a call"
	}
	return shown(value)
}

// subject returns the evidence of which a side of a comparison reads something.
func (j *judgement) subject(references []expression.Reference) (*Made, string) {
	for _, each := range references {
		if e := j.file.evidence[each.Root]; e != nil && each.Name != "" {
			if answer := j.evidence(e); answer.made != nil {
				return answer.made, e.name
			}
		}
	}
	return nil, ""
}

// Missing returns the calls that would help, each once.
func (v Verdict) Missing() []Suggestion {
	all, seen := []Suggestion{}, map[string]bool{}
	for _, finding := range v.Findings {
		for _, part := range finding.Parts {
			if part.Next != nil && !finding.Rule.Warn && !seen[part.Next.String()] {
				seen[part.Next.String()] = true
				all = append(all, *part.Next)
			}
		}
	}
	return all
}

// refused returns the findings that count for the decision.
func (v Verdict) refused() []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Rule.Warn || f.kind == kindApprove })
}

// Text explains a refusal in at most 600 bytes.
func (v Verdict) Text() string {
	next := ""
	if missing := v.Missing(); len(missing) > 0 {
		next = "\nNext: " + missing[0].String() + "."
	}
	if v.Again >= 2 {
		next = fmt.Sprintf("\nThis call was refused %d times: stop, and ask a person.", v.Again+1)
	}
	for _, withHeld := range []bool{true, false} {
		if text := v.Call.Tool + " was not called." + lines(v.refused(), withHeld) + next; len(text) <= maxText {
			return text
		}
	}
	next = fault.Cut(next, maxText/3)
	return fault.Cut(v.Call.Tool+" was not called."+lines(v.refused(), false), maxText-len(next)) + next
}

// Warnings explains, in a text of lines, which rules are not met that only warn.
func (v Verdict) Warnings() string {
	return strings.TrimSpace(lines(slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !f.Rule.Warn }), false))
}

func lines(findings []Finding, withHeld bool) string {
	var text strings.Builder
	for i, finding := range findings {
		between := " "
		if i > 0 {
			between = "\n"
		}
		fmt.Fprintf(&text, between+"Rule %s (%s:%d) is not met.", finding.Rule.ID, finding.Rule.File(), finding.Rule.Line)
		if finding.Message != "" {
			text.WriteString(" " + strings.TrimSuffix(finding.Message, ".") + ".")
		}
		width := 0
		for _, part := range finding.Parts {
			width = max(width, len(part.Name))
		}
		for _, part := range finding.Parts {
			state := string(part.State)
			if part.State != Held {
				state = strings.ToUpper(strings.ReplaceAll(state, "_", " "))
			}
			if part.State != Held || withHeld {
				fmt.Fprintf(&text, "\n  %-*s  %-10s  %s", width, part.Name, state, part.Text)
			}
		}
	}
	return text.String()
}

// Fault returns the refusal as an error, RULE_REFUSED, with its parts as data.
func (v Verdict) Fault() *fault.Error {
	return fault.New(fault.RuleRefused, "%s", v.Text()).Attach("rules", summaries(v.refused()).Brief()).Attach("missing", v.Missing())
}

// Summary is a finding as data.
type Summary struct {
	Rule    string `json:"rule"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message,omitempty"`
	Warn    bool   `json:"warn,omitempty"`
	Parts   []Part `json:"parts"`
}

// Summaries returns all findings as data.
func (v Verdict) Summaries() Summaries { return summaries(v.Findings) }

// Summaries are findings as data.
type Summaries []Summary

// Brief shortens the messages for a model that is refused a call: a folder can bring many.
func (s Summaries) Brief() Summaries {
	for i := range s {
		s[i].Message = fault.Cut(s[i].Message, maxText/3)
	}
	return s
}

// Names are those of the rules, separated by commas.
func (s Summaries) Names() string {
	names := make([]string, len(s))
	for i, each := range s {
		names[i] = each.Rule
	}
	return strings.Join(names, ",")
}

func summaries(findings []Finding) Summaries {
	all := make(Summaries, 0, len(findings))
	for _, f := range findings[:min(len(findings), maxParts)] {
		all = append(all, Summary{f.Rule.ID, f.Rule.File(), f.Rule.Line, f.Message, f.Rule.Warn, f.Parts})
	}
	return all
}

// Questions returns what a person is asked, with the rules that ask.
func (v Verdict) Questions() (texts []string) {
	for _, finding := range v.Findings {
		for _, part := range finding.Parts {
			if part.State == Approve && !finding.Rule.Warn {
				texts = append(texts, cmp.Or(part.Text, finding.Rule.ID))
			}
		}
	}
	return texts
}

// Asks reports whether a person is asked: nothing else refuses the call.
func (v Verdict) Asks() bool { return len(v.refused()) == 0 && len(v.Questions()) > 0 }

// OfWorkflow stands for a file of rules where the approval of a workflow asks.
const OfWorkflow = "the workflow"

// Asking returns the verdict with the question of a workflow's approval, which is about the
// tool and does not cover the call; why says why not.
func (v Verdict) Asking(step, why string) Verdict {
	asks := &Rule{ID: step, file: &File{Path: OfWorkflow}, grant: flow.DefaultGrant()}
	v.Findings = append(slices.Clone(v.Findings), Finding{Rule: asks, Message: why, kind: kindApprove,
		Parts: []Part{{Name: "approve", State: Approve, Text: "The approval of step " + step + " does not cover this call. Make it?"}}})
	if v.Decision == Allow {
		v.Decision = Ask
	}
	return v
}

// Grant returns how far an approval reaches: as far as the strictest rule that asks says.
func (v Verdict) Grant() flow.Grant {
	grant := flow.Grant{}
	for _, finding := range v.Findings {
		if of := finding.Rule.grant; finding.kind == kindApprove && !finding.Rule.Warn {
			if grant.Most == 0 {
				grant = of
			}
			grant = flow.Grant{Most: min(grant.Most, of.Most), Within: min(grant.Within, of.Within)}
		}
	}
	return grant
}
