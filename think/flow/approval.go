package flow

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/think/flow/expression"
)

// Grant says how far a person's approval reaches: for how many calls, and for how many
// milliseconds.
type Grant struct {
	Most   int   `json:"most"`
	Within int64 `json:"within"`
}

// DefaultGrant is that of an approval that does not say: one call, within a day.
func DefaultGrant() Grant { return Grant{Most: 1, Within: 86_400_000} }

// Reaches reports whether a grant reaches one more call, milliseconds after the approval.
func (g Grant) Reaches(used int, after int64) bool { return used < g.Most && after < g.Within }

// Approval says of a person's step who answers it, and what their yes covers.
type Approval struct {
	// Approvers are the names of those who may answer; empty: everybody.
	Approvers   []string
	approversAt []position
	// Count is how many different persons have to agree.
	Count int
	// Remind and Escalate are milliseconds, 0 for never: when a question that still waits is
	// brought up again, and to somebody else.
	Remind, Escalate int64
	// Never names those of the two keys that are written and name no time.
	Never []string
	// Scope is what a yes covers beyond the step, or nil.
	Scope *Scope
}

// Scope is a set of calls of one tool.
type Scope struct {
	Call string
	// Where is a condition over input, the arguments of a call; nil: any.
	Where *expression.Program
	Grant
	expires string
	whereAt *source
	callAt  position
}

// placed is an expression and where it stands.
type placed struct {
	program *expression.Program
	where   *source
}

// scoped returns the condition of the step's scope.
func (s *Step) scoped() placed {
	if s.Approval == nil || s.Approval.Scope == nil {
		return placed{}
	}
	return placed{s.Approval.Scope.Where, s.Approval.Scope.whereAt}
}

// Site is where the condition stands, nil for none.
func (s *Scope) Site() *Site { return s.whereAt }

// description is the scope as a person sees it.
func (s *Scope) description() map[string]any {
	shown := map[string]any{"call": s.Call, "at_most": s.Most, "expires": s.expires}
	if s.Where != nil {
		shown["where"] = s.Where.Source()
	}
	return shown
}

// description adds to the input of a step what a person has to know of their answer, so that it
// is bound to it.
func (a *Approval) description(input any) any {
	object, is := input.(map[string]any)
	if a == nil || !is {
		return input
	}
	object = maps.Clone(object)
	if len(a.Approvers) > 0 {
		names := make([]any, len(a.Approvers))
		for i, name := range a.Approvers {
			names[i] = name
		}
		object["approvers"] = names
	}
	if a.Count > 1 {
		object["count"] = a.Count
	}
	if a.Scope != nil {
		object["scope"] = a.Scope.description()
	}
	return object
}

// Due says what is due of a question that waits for milliseconds: "", remind or escalate.
func (a *Approval) Due(waits int64) string {
	switch {
	case a == nil:
	case a.Escalate > 0 && waits >= a.Escalate:
		return "escalate"
	case a.Remind > 0 && waits >= a.Remind:
		return "remind"
	}
	return ""
}

// conditions explain who has to agree, and what their yes covers.
func (a *Approval) conditions(agreed []string) (list []Condition) {
	if a == nil {
		return nil
	}
	message := strconv.Itoa(a.Count) + " of " + strings.Join(a.Approvers, ", ") + " must answer"
	if len(a.Approvers) == 0 {
		message = strconv.Itoa(a.Count) + " different persons must agree"
	}
	if len(agreed) > 0 {
		message += "; agreed: " + strings.Join(agreed, ", ")
	}
	if a.Count > 1 || len(a.Approvers) > 0 {
		list = append(list, Condition{Kind: "approval", Message: message})
	}
	if s := a.Scope; s != nil {
		covers := Condition{Kind: "scope", Message: s.String()}
		if s.Where != nil {
			covers.Expression = s.Where.Source()
		}
		list = append(list, covers)
	}
	return list
}

// String says which calls a scope covers.
func (s *Scope) String() string {
	where := ""
	if s.Where != nil {
		where = " where " + s.Where.Source()
	}
	return "a yes covers at most " + strconv.Itoa(s.Most) + " calls of " + s.Call + where + ", for " + s.expires
}

// Admits refuses a person who may not answer a step, or who agreed already and does not
// decline now: APPROVAL_REQUIRED.
func (a *Approval) Admits(step, person string, agreed []string, declines bool) error {
	switch {
	case a == nil:
	case len(a.Approvers) > 0 && !slices.Contains(a.Approvers, person):
		return fault.New(fault.ApprovalRequired, "step %q takes the answers of %s, not of %s", step, strings.Join(a.Approvers, ", "), fault.Cut(person, 60))
	case slices.Contains(agreed, person) && !declines:
		return fault.New(fault.ApprovalRequired, "%s agreed already, and counts once: step %q needs %d persons, so %d more", fault.Cut(person, 60), step, a.Count, a.Count-len(agreed))
	}
	return nil
}

// Others says whose answer a step takes where it does not take that of a person; "" where it
// does.
func (a *Approval) Others(person string, agreed []string) string {
	if a.Admits("", person, agreed, false) == nil {
		return ""
	}
	left := slices.DeleteFunc(slices.Clone(a.Approvers), func(name string) bool { return slices.Contains(agreed, name) })
	return cmp.Or(strings.Join(left, " or "), "somebody other than "+strings.Join(agreed, ", "))
}

// agrees takes a yes to which others have to be added, and reports whether it was one.
func (u *unit) agrees(answer Answer) bool {
	a := u.step().Approval
	if a == nil || len(u.rare().agreed)+1 >= a.Count {
		return false
	}
	u.more().agreed = append(u.rare().agreed, answer.By)
	u.attempt++
	u.touch()
	return true
}

// Approved is the answer of a person to whether calls are covered.
type Approved struct {
	Step  string
	Scope *Scope
	// Version is that of the answer.
	Version int
	// Declined says that the answer was no.
	Declined bool
	unit     *unit
}

// Approved returns the answered approvals of a run whose scopes are about a tool, all where it is
// empty, in the order of the steps.
func (v View) Approved(tool string) []Approved {
	if len(v.run.graph.scoped) == 0 {
		return nil
	}
	return v.run.root.approved(tool, nil)
}

func (f *frame) approved(tool string, list []Approved) []Approved {
	for i := range f.nodes {
		n := &f.nodes[i]
		a := n.step().Approval
		for k := range n.units {
			u := &n.units[k]
			if a != nil && a.Scope != nil && (tool == "" || a.Scope.Call == tool) && (u.status == Done || u.status == Failed) && len(u.attempts) > 0 {
				list = append(list, Approved{u.id, a.Scope, u.attempts[len(u.attempts)-1].version, u.status == Failed, u})
			}
			for _, round := range u.rounds() {
				list = round.approved(tool, list)
			}
		}
	}
	return list
}

// Scoped returns the tools that scopes of the workflow, and of those below, are about.
func (g *Graph) Scoped() []string { return g.scoped }

func (g *Graph) cover(tools ...string) {
	for _, tool := range tools {
		if !slices.Contains(g.scoped, tool) {
			g.scoped = append(g.scoped, tool)
		}
	}
}

// covers returns the tool whose calls a yes to the step covers, if any.
func (s *Step) covers() []string {
	if s.Approval == nil || s.Approval.Scope == nil {
		return nil
	}
	return []string{s.Approval.Scope.Call}
}

// Misfit says why a call with these arguments is none of the scope, "" where it is one. It
// returns refs if captures that the condition reads are missing. Nothing fits a condition
// that cannot be computed.
func (a Approved) Misfit(input map[string]any) (why string, refs []Ref) {
	if a.Scope.Where == nil {
		return "", nil
	}
	var m missing
	if m.node(a.unit.node); len(m.refs) > 0 {
		return "", m.refs
	}
	env := a.unit.node.env(-1)
	env.Item = input
	value, err := a.Scope.Where.Eval(env)
	if err != nil {
		return "where cannot be computed: " + a.Scope.whereAt.diagnostic(err).Message, nil
	}
	if value != true {
		return "it does not fit where: " + a.Scope.Where.Source(), nil
	}
	return "", nil
}

// maxPersons bounds count and approvers.
const maxPersons = 20

// approval reads who answers a person's step, and what a yes covers.
func (p *parser) approval(s *Step, keys entries) {
	given := slices.DeleteFunc([]string{"approvers", "count", "remind_after", "escalate_after", "scope"}, func(key string) bool { return keys.value(key) == nil })
	if len(given) == 0 {
		return
	}
	for _, key := range given {
		switch {
		case !s.Person():
			p.add(fault.YAMLSchemaViolation, s.path+"."+key, keys.value(key), "%s is for human.approve, which a person answers", key)
		case s.Answering() != Decides && (key == "count" || key == "scope"):
			p.add(fault.YAMLSchemaViolation, s.path+"."+key, keys.value(key), "%s is for human.approve: a question has one answer", key)
		}
	}
	a := &Approval{Count: 1}
	for i, key := range []string{"remind_after", "escalate_after"} {
		written, into := p.duration(keys, key, s.path), []*int64{&a.Remind, &a.Escalate}[i]
		if *into = milliseconds(written); written != "" && *into == 0 {
			a.Never = append(a.Never, key)
		}
	}
	p.integer(keys, "count", s.path, 1, maxPersons, &a.Count)
	p.approvers(a, s.path+".approvers", keys.value("approvers"))
	if names := len(a.Approvers); names > 0 && a.Count > names {
		p.add(fault.YAMLSchemaViolation, s.path+".count", keys.value("count"), "%d persons can never agree: approvers names %d", a.Count, names)
	}
	if a.Escalate > 0 && a.Escalate <= a.Remind {
		p.add(fault.YAMLSchemaViolation, s.path+".escalate_after", keys.value("escalate_after"), "escalate_after must be longer than remind_after, %s", keys.value("remind_after").Value)
	}
	s.Approval = a
}

// milliseconds reads a duration that durationText matches, at most about 30 years.
func milliseconds(text string) int64 {
	units, total := map[string]float64{"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}, 0.0
	for text != "" {
		number := len(text) - len(strings.TrimLeft(text, "0123456789."))
		unit := len(text) - number - len(strings.TrimLeft(text[number:], "msh"))
		count, _ := strconv.ParseFloat(text[:number], 64)
		total, text = total+count*units[text[number:number+unit]], text[number+unit:]
	}
	return int64(min(total, 1e12))
}

func (p *parser) approvers(a *Approval, at string, node *yaml.Node) {
	if node == nil {
		return
	}
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 || len(node.Content) > maxPersons {
		p.add(fault.YAMLSchemaViolation, at, node, "approvers must be a list of 1 to %d names: of tokens, or local for whoever sits at this machine", maxPersons)
		return
	}
	for i, item := range node.Content {
		at := at + "[" + strconv.Itoa(i) + "]"
		switch {
		case item.Kind != yaml.ScalarNode || item.Tag != "!!str" || item.Value == "" || len(item.Value) > 200:
			p.add(fault.YAMLSchemaViolation, at, item, "an approver is the name of a token, or local for whoever sits at this machine")
		case slices.Contains(a.Approvers, item.Value):
			p.add(fault.YAMLSchemaViolation, at, item, "%q is named twice, and counts once", item.Value)
		default:
			a.Approvers = append(a.Approvers, item.Value)
			a.approversAt = append(a.approversAt, p.source(item, "", 0).positionAt(0))
		}
	}
}

// scopeOf reads the scope of an approval, in the names that the step's input may read.
func (p *parser) scopeOf(s *Step, node *yaml.Node, names expression.Scope) {
	at := s.path + ".scope"
	keys, ok := p.mapping(node, at, scopeKeys)
	if !ok || s.Approval == nil {
		return
	}
	scope := &Scope{Call: p.required(keys, "call", at, node), Grant: DefaultGrant(), expires: "24h"}
	if call := keys.value("call"); call != nil && scope.Call != "" {
		scope.callAt = p.source(call, "", 0).positionAt(0)
		prefix, _, _ := strings.Cut(scope.Call, ".")
		if !toolName().MatchString(scope.Call) || slices.Contains([]string{"llm", "human", "flow", "think"}, prefix) {
			p.add(fault.YAMLSchemaViolation, at+".call", call, "an approval covers the calls of a tool, server.tool, not %q%s", fault.Cut(scope.Call, 80), dotted(scope.Call))
		}
	}
	p.integer(keys, "at_most", at, 1, maxLimit, &scope.Most)
	if written := p.duration(keys, "expires", at); written != "" {
		if scope.Within = milliseconds(written); scope.Within < 1 {
			p.add(fault.YAMLSchemaViolation, at+".expires", keys.value("expires"), "expires is a time such as 30m or 24h")
		}
		scope.expires = written
	}
	if where := keys.value("where"); where != nil {
		names.Item = "input"
		scope.Where, scope.whereAt = p.compile(where, at+".where", names)
		if scope.Where != nil && !slices.ContainsFunc(scope.Where.References(), func(r expression.Reference) bool { return r.Root == "item" }) {
			p.add(fault.YAMLSchemaViolation, at+".where", where, "where asks about the arguments of a call: it reads input, as in input.amount < 100")
		}
		if scope.Where != nil && slices.ContainsFunc(scope.Where.References(), func(r expression.Reference) bool { return r.Root == "loop" }) {
			p.add(fault.YAMLSchemaViolation, at+".where", where, "loop is not known in where: it is computed for each call")
		}
	}
	s.Approval.Scope = scope
}

// reservedInput refuses an input that would hide what a person is shown of the approval.
func (p *parser) reservedInput(s *Step, input *yaml.Node) {
	for _, name := range []string{"approvers", "count", "scope"} {
		if key, value := entry(input, name); s.Approval != nil && value != input {
			p.add(fault.YAMLSchemaViolation, s.path+".input_template."+name, key, "%s is a key of the step, beside input_template", name)
		}
	}
}
