package flow

import (
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Instruction is one issued unit of work.
type Instruction struct {
	StepID        string `json:"step_id"`
	Call          string `json:"call"`
	Input         any    `json:"input"`
	CaptureAs     string `json:"capture_as,omitempty"`
	SuccessSchema any    `json:"success_schema,omitempty"`
	// Check is as the step has it: the name of a validator, or fields and their names.
	Check     any    `json:"check,omitempty"`
	Rationale string `json:"rationale,omitempty"`
	Attempt   int    `json:"attempt"`
	Timeout   string `json:"timeout,omitempty"`
	// Backoff is the runtime's pause before the second attempt, see Retry; it is not sent
	// to clients.
	Backoff string `json:"-"`
	// Complex asks for the large model; it is not sent to clients.
	Complex bool   `json:"-"`
	Witness string `json:"witness,omitempty"`
	// Allow lists the tools that the model may call while it answers the step.
	Allow *[]string `json:"allow,omitempty"`
	// SchemaName names SuccessSchema: its own name, else the id of its step.
	SchemaName string `json:"-"`
	// New reports that the last event issued the instruction, or issued it again
	// because the answer was refused.
	New bool `json:"-"`
	// Version is the version that issued the step.
	Version int `json:"-"`
	// Asked is the schema of the answer to a human.ask, in JSON, in the order in which it is
	// written; nil allows any text.
	Asked []byte `json:"-"`
	// Shown identifies what a person is shown; an answer is accepted only for exactly
	// that.
	Shown string `json:"-"`
	// Approval says who answers a person's step, nil where it does not say; Agreed has
	// those who agreed already.
	Approval *Approval `json:"-"`
	Agreed   []string  `json:"-"`
	// Stated identifies what a person is shown who states an unknown outcome.
	Stated string `json:"-"`
	// Outcome is "unknown" if it is not known whether the last call had an effect: the
	// step waits for a statement, and its call must not be repeated.
	Outcome string `json:"outcome,omitempty"`
	// Diagnostics are the errors of the previous attempt.
	Diagnostics []fault.Diagnostic `json:"diagnostics,omitempty"`
}

// issue issues ready units in declaration order, up to limits.parallel and, in one
// event, the run's window. It returns the missing captures.
func (r *Run) issue() []Ref {
	taken := r.places()
	for r.blocked == nil && r.rejected == nil {
		u := taken.next(r)
		if u == nil {
			return nil
		}
		if bounded := r.terms.Window > 0 && len(r.fresh) > 0; bounded || !r.resuming {
			refs, ok := r.prepare(u, bounded)
			if len(refs) > 0 {
				return refs
			}
			if !ok {
				return nil
			}
		}
		r.ready = remove(r.ready, u)
		taken.take(u)
		u.status, u.attempt, u.issuedAt = Issued, 1, r.version
		r.issued, r.fresh = insert(r.issued, u), append(r.fresh, u)
		u.touch()
	}
	return nil
}

// places counts what is outstanding, against limits.parallel, limits.groups and the
// `parallel` of loops. Where the file has no limits.parallel, a loop with `parallel`
// counts as one, and each of its items under way is a sequence of its own.
type places struct {
	total  int
	used   map[sequence]int   // by sequence: steps outstanding, and loops with `parallel`
	items  map[*nodeState]int // items under way of such loops
	groups map[string]int
}

// sequence is an item of a loop with `parallel`; the zero sequence is the whole run.
type sequence struct {
	loop *nodeState
	item int
}

func (r *Run) places() *places {
	p := &places{total: len(r.issued)}
	if r.graph.throttled {
		p.total, p.used, p.items, p.groups = 0, map[sequence]int{}, map[*nodeState]int{}, map[string]int{}
		for _, u := range r.issued {
			p.take(u)
		}
	}
	return p
}

// next returns the first ready unit that has a place, or nil.
func (p *places) next(r *Run) *unit {
	limits := r.graph.Workflow.Limits
	if p.total >= limits.Parallel && (limits.ParallelWritten || !r.graph.throttled) || p.total >= MaxParallel {
		return nil
	}
	for _, u := range r.ready {
		if p.groups == nil || p.fits(u, limits.ParallelWritten) {
			return u
		}
	}
	return nil
}

// fits reports whether a unit has a place; bounded says that the file has
// limits.parallel, which then bounds all.
func (p *places) fits(u *unit, bounded bool) bool {
	for at := u; at != nil; at = at.frame().owner {
		if group := at.step().Group; group != "" && p.groups[group] >= at.frame().graph.Workflow.Limits.Groups[group] {
			return false
		}
	}
	for _, s := range u.sequences() {
		switch {
		case !bounded && p.used[s] > 0:
			return false
		case s.loop == nil || p.used[s] > 0:
			return true
		case p.items[s.loop] >= s.loop.list.parallel:
			return false
		case p.items[s.loop] > 0:
			return true // the loop has its place already
		}
	}
	return true
}

func (p *places) take(u *unit) {
	p.total++
	if p.groups == nil {
		return
	}
	for at := u; at != nil; at = at.frame().owner {
		if group := at.step().Group; group != "" {
			p.groups[group]++
		}
	}
	for _, s := range u.sequences() {
		if p.used[s]++; s.loop == nil || p.used[s] > 1 {
			return
		}
		if p.items[s.loop]++; p.items[s.loop] > 1 {
			return
		}
	}
}

// sequences are those that the unit is part of, the innermost first.
func (u *unit) sequences() []sequence {
	var list []sequence
	for at := u; at != nil; at = at.frame().owner {
		if n := at.node; n.loop() && n.list.parallel > 0 {
			list = append(list, sequence{n, at.item})
		}
	}
	return append(list, sequence{})
}

// prepare renders a unit to issue, and earlier units of the same event that are not
// rendered yet. It returns the missing captures; ok is false if the unit does not fit
// the window, or the run is blocked.
func (r *Run) prepare(u *unit, bounded bool) (refs []Ref, ok bool) {
	units := []*unit{u}
	if bounded {
		units = append(slices.Clone(r.fresh), u)
	}
	var m missing
	for _, each := range units {
		if !each.rare().rendered {
			m.node(each.node)
		}
	}
	if len(m.refs) > 0 {
		return m.refs, false
	}
	total := 0
	for _, each := range units {
		if !each.render() {
			return nil, false
		}
		if bounded {
			total += each.length()
		}
	}
	return nil, !bounded || total <= r.terms.Window
}

// length is about how many bytes of JSON the unit takes in a reply.
func (u *unit) length() int {
	input, _ := jsonvalue.Encode(u.rare().input)
	size := len(input) + len(u.step().Rationale) + len(u.id) + instructionBytes
	if schema := u.step().Schema; schema != nil && (u.item <= 0) { // the items of a loop share theirs
		whole, _ := jsonvalue.Encode(schema.JSON())
		size += len(whole)
	}
	return size
}

// NeedsPerson reports whether only a person can answer the instruction.
func (i *Instruction) NeedsPerson() bool {
	return i.Shown != "" || i.Outcome != "" && i.Witness == "required"
}

// OutcomeUnknown is the Outcome of an instruction whose last call may have had an effect.
const OutcomeUnknown = "unknown"

// instructionBytes estimates the size of an instruction without its texts.
const instructionBytes = 200

// render computes the unit's instruction; false means that it failed and the run is
// blocked.
func (u *unit) render() bool {
	if u.rare().rendered {
		return true
	}
	input, err := u.step().input.render(u.node.env(u.item))
	if err == nil && u.step().Answering() == FillsIn {
		err = u.checkQuestion(input)
	}
	if err != nil {
		u.run().block(err)
		return false
	}
	u.more().input, u.more().rendered = u.step().Approval.description(input), true
	return true
}

func (u *unit) checkQuestion(rendered any) error {
	input, _ := rendered.(map[string]any)
	if input["schema"] == nil {
		return nil
	}
	if _, err := u.frame().graph.Workflow.set.Inline(input["schema"]); err != nil {
		return u.mismatch(u.step().input.field("schema"), "human.ask: schema: "+fault.From(err).Message())
	}
	return nil
}

func (r *Run) issuedIDs() []string {
	ids := make([]string, len(r.issued))
	for i, u := range r.issued {
		ids[i] = u.id
	}
	return ids
}

func (u *unit) instruction() Instruction {
	s := u.step()
	u.render()
	i := Instruction{StepID: u.id, Call: s.Call, Allow: s.Allow, Input: u.rare().input, CaptureAs: s.CaptureAs,
		Check: s.checks(), Rationale: s.Rationale, Attempt: u.attempt, Timeout: s.Timeout, Backoff: s.Retry.Backoff, Complex: s.Complex, Version: u.issuedAt}
	if s.Person() {
		i.Shown, i.Asked, i.Approval, i.Agreed = u.run().approvalDigest(u), u.askedText(), s.Approval, u.rare().agreed
	}
	if u.rare().unknown {
		i.Outcome, i.Stated = OutcomeUnknown, u.run().approvalDigest(u)
	}
	if s.Witness == "required" {
		i.Witness = s.Witness
	}
	if s.Schema != nil {
		i.SuccessSchema, i.SchemaName = s.Schema.JSON(), s.Schema.Name()
		if i.SchemaName == "" {
			i.SchemaName = u.node.id()
		}
	}
	i.New = slices.Contains(u.run().fresh, u) || u.run().rejected != nil && u == u.run().answered
	if failure := u.rare().shown; failure != nil {
		i.Diagnostics = failure.Diagnostics
		if len(i.Diagnostics) > 5 {
			i.Diagnostics = slices.Clone(i.Diagnostics[:5])
		}
	}
	return i
}

// checks returns the step's validators by name as its file has them, nil for none.
func (s *Step) checks() any {
	if len(s.Checks) == 0 {
		return nil
	}
	fields := make(map[string]any, len(s.Checks))
	for _, each := range s.Checks {
		if each.Field == "" {
			return each.By.Name()
		}
		fields[each.Field] = each.By.Name()
	}
	return fields
}

func (r *Run) approvalDigest(u *unit) string {
	u.render()
	shown := map[string]any{"run": r.id, "workflow": r.graph.Workflow.Digest, "step": u.id, "call": u.step().Call, "input": u.rare().input}
	if u.rare().unknown {
		shown["unknown_outcome"] = u.attempt
	}
	digest, err := jsonvalue.Digest(shown)
	if err != nil {
		return ""
	}
	return digest
}
