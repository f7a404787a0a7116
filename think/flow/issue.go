package flow

import (
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Instruction is one thing to do, as it is handed out.
type Instruction struct {
	StepID        string `json:"step_id"`
	Call          string `json:"call"`
	Input         any    `json:"input"`
	CaptureAs     string `json:"capture_as,omitempty"`
	SuccessSchema any    `json:"success_schema,omitempty"`
	Rationale     string `json:"rationale,omitempty"`
	Attempt       int    `json:"attempt"`
	Timeout       string `json:"timeout,omitempty"`
	// Backoff is what a runtime waits before the second attempt, as Retry has
	// it; no client is told.
	Backoff string `json:"-"`
	Witness string `json:"witness,omitempty"`
	// Schema is the whole of SuccessSchema, where that is only a name too.
	Schema any `json:"-"`
	// Version is that of the event which handed the step out.
	Version int `json:"-"`
	// Shown identifies what a person is shown, where the step waits for one: an
	// answer is good only for exactly that.
	Shown string `json:"-"`
	// Diagnostics say what was wrong with the attempt before.
	Diagnostics []fault.Diagnostic `json:"diagnostics,omitempty"`
	Done        bool               `json:"done"`
}

// maxSchema is how much of a success_schema an instruction carries; a larger
// one is named, and think.explain shows it.
const maxSchema = 1200

// issue hands out ready units, in declaration order, up to limits.parallel. It
// returns the captures that are missing for that.
func (r *Run) issue() []Ref {
	for len(r.issued) < r.graph.Workflow.Limits.Parallel && len(r.ready) > 0 && r.blocked == nil {
		u := r.ready[0]
		if !r.resuming {
			var m missing
			if m.node(u.node); len(m.refs) > 0 {
				return m.refs
			}
			if !u.render() {
				return nil
			}
		}
		r.ready = r.ready[1:]
		u.status, u.attempt, u.issuedAt = Issued, 1, r.version
		r.issued = insert(r.issued, u)
		u.touch()
	}
	return nil
}

// render computes what the unit is handed out with; false means that it cannot
// be and the run is blocked.
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
		return u.misfit(u.step().input.field("schema"), "human.ask: schema: "+fault.From(err).Message())
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
	i := Instruction{StepID: u.id, Call: s.Call, Input: u.rare().input, CaptureAs: s.CaptureAs,
		Rationale: s.Rationale, Attempt: u.attempt, Timeout: s.Timeout, Backoff: s.Retry.Backoff, Version: u.issuedAt}
	if s.Person() {
		i.Shown = u.run().shown(u)
	}
	if s.Witness == "required" {
		i.Witness = s.Witness
	}
	if s.Schema != nil {
		i.Schema = s.Schema.JSON()
		i.SuccessSchema = i.Schema
		if name := s.Schema.Name(); name != "" {
			if whole, err := jsonvalue.Encode(i.Schema); err == nil && len(whole) > maxSchema {
				i.SuccessSchema = name
			}
		}
	}
	if shown := u.rare().shown; shown != nil {
		i.Diagnostics = shown.Diagnostics
		if len(i.Diagnostics) > 5 {
			i.Diagnostics = slices.Clone(i.Diagnostics[:5])
		}
	}
	return i
}

func (r *Run) shown(u *unit) string {
	u.render()
	digest, err := jsonvalue.Digest(map[string]any{"run": r.id, "workflow": r.graph.Workflow.Digest, "step": u.id, "call": u.step().Call, "input": u.rare().input})
	if err != nil {
		return ""
	}
	return digest
}
