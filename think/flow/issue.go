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
	// Shown identifies what a person is shown; an answer is accepted only for exactly
	// that.
	Shown string `json:"-"`
	// Diagnostics are the errors of the previous attempt.
	Diagnostics []fault.Diagnostic `json:"diagnostics,omitempty"`
}

// issue issues ready units in declaration order, up to limits.parallel and, in one
// event, the run's window. It returns the missing captures.
func (r *Run) issue() []Ref {
	for len(r.issued) < r.graph.Workflow.Limits.Parallel && len(r.ready) > 0 && r.blocked == nil && r.rejected == nil {
		u := r.ready[0]
		if bounded := r.terms.Window > 0 && len(r.fresh) > 0; bounded || !r.resuming {
			refs, ok := r.prepare(u, bounded)
			if len(refs) > 0 {
				return refs
			}
			if !ok {
				return nil
			}
		}
		r.ready = r.ready[1:]
		u.status, u.attempt, u.issuedAt = Issued, 1, r.version
		r.issued, r.fresh = insert(r.issued, u), append(r.fresh, u)
		u.touch()
	}
	return nil
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

// instructionBytes estimates the size of an instruction without its texts.
const instructionBytes = 200

// render computes the unit's instruction; false means that it failed and the run is
// blocked.
func (u *unit) render() bool {
	if u.rare().rendered {
		return true
	}
	input, err := u.step().input.render(u.node.env(u.item))
	if err == nil && u.step().Call == CallAsk {
		err = u.checkQuestion(input)
	}
	if err != nil {
		u.run().block(err)
		return false
	}
	u.more().input, u.more().rendered = input, true
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
		Check: s.checks(), Rationale: s.Rationale, Attempt: u.attempt, Timeout: s.Timeout, Backoff: s.Retry.Backoff, Version: u.issuedAt}
	if s.Person() {
		i.Shown = u.run().shown(u)
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
	if shown := u.rare().shown; shown != nil {
		i.Diagnostics = shown.Diagnostics
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

func (r *Run) shown(u *unit) string {
	u.render()
	digest, err := jsonvalue.Digest(map[string]any{"run": r.id, "workflow": r.graph.Workflow.Digest, "step": u.id, "call": u.step().Call, "input": u.rare().input})
	if err != nil {
		return ""
	}
	return digest
}
