package flow

import (
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Instruction is one thing to do, as it is handed out.
type Instruction struct {
	StepID string `json:"step_id"`
	Call   string `json:"call"`
	Input  any    `json:"input"`
	// InputTemplate repeats Input for older callers.
	InputTemplate any    `json:"input_template"`
	CaptureAs     string `json:"capture_as,omitempty"`
	SuccessSchema any    `json:"success_schema,omitempty"`
	Rationale     string `json:"rationale,omitempty"`
	Attempt       int    `json:"attempt"`
	Timeout       string `json:"timeout,omitempty"`
	// Backoff is what a runtime waits before the second attempt, as Retry has
	// it; no client is told.
	Backoff string `json:"-"`
	Witness string `json:"witness,omitempty"`
	// Diagnostics say what was wrong with the attempt before.
	Diagnostics []fault.Diagnostic `json:"diagnostics,omitempty"`
	Done        bool               `json:"done"`
}

// maxSchema is how much of a success_schema an instruction carries; a larger
// one is named, and think.explain shows it.
const maxSchema = 1200

// issue hands out ready units, in declaration order, up to limits.parallel.
func (r *Run) issue() {
	for len(r.issued) < r.graph.Workflow.Limits.Parallel && len(r.ready) > 0 && r.blocked == nil {
		u := r.ready[0]
		if !r.resuming && !u.render() {
			return
		}
		r.ready = r.ready[1:]
		u.status, u.attempt, u.issuedAt = Issued, 1, r.version
		r.issued = insert(r.issued, u)
		u.touch()
	}
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
		return u.misfit(u.step().input.field("schema"), "human.ask: schema: "+fault.From(err).Details)
	}
	return nil
}

// Outstanding returns the instructions that wait for an answer, in declaration
// order.
func (r *Run) Outstanding() []Instruction {
	list := make([]Instruction, len(r.issued))
	for i, u := range r.issued {
		list[i] = u.instruction()
	}
	return list
}

// IssuedIDs returns the ids of the steps that wait for an answer.
func (r *Run) IssuedIDs() []string {
	ids := make([]string, len(r.issued))
	for i, u := range r.issued {
		ids[i] = u.id
	}
	return ids
}

// ReadyIDs returns the first ids of the steps that could run, and their
// number.
func (r *Run) ReadyIDs(limit int) (ids []string, total int) {
	ids = make([]string, 0, min(limit, len(r.ready)))
	for _, u := range r.ready[:min(limit, len(r.ready))] {
		ids = append(ids, u.id)
	}
	return ids, len(r.ready)
}

// IssuedAt returns the version at which an outstanding step was handed out,
// or 0, and its timeout as written.
func (r *Run) IssuedAt(step string) (version int, timeout string) {
	for _, u := range r.issued {
		if u.id == step {
			return u.issuedAt, u.step().Timeout
		}
	}
	return 0, ""
}

// Issued counts the steps that wait for an answer.
func (r *Run) Issued() int { return len(r.issued) }

// IssuedVersions returns the versions at which the outstanding steps were
// handed out, in the order of the steps.
func (r *Run) IssuedVersions() []int {
	versions := make([]int, len(r.issued))
	for i, u := range r.issued {
		versions[i] = u.issuedAt
	}
	return versions
}

func (u *unit) instruction() Instruction {
	s := u.step()
	u.render()
	i := Instruction{StepID: u.id, Call: s.Call, Input: u.rare().input, InputTemplate: u.rare().input, CaptureAs: s.CaptureAs,
		Rationale: s.Rationale, Attempt: u.attempt, Timeout: s.Timeout, Backoff: s.Retry.Backoff}
	if s.Witness == "required" {
		i.Witness = s.Witness
	}
	if s.Schema != nil {
		i.SuccessSchema = s.Schema.JSON()
		if s.Schema.Name() != "" && jsonSize(i.SuccessSchema) > maxSchema {
			i.SuccessSchema = s.Schema.Name()
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

func jsonSize(value any) int {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return 0
	}
	return len(data)
}

// ShownDigest identifies what a person is shown for an outstanding step: an
// answer is good only for exactly that.
func (r *Run) ShownDigest(step string) (string, error) {
	n, u := r.find(step)
	if n == nil {
		return "", r.unknown(step)
	}
	if err := r.expect(n, u, step); err != nil {
		return "", err
	}
	if !u.step().Person() {
		return "", fault.New(fault.InvalidTransition, "step %q is %s: it does not wait for a person", step, u.step().Call)
	}
	return r.shown(u), nil
}

func (r *Run) shown(u *unit) string {
	u.render()
	digest, err := jsonvalue.Digest(map[string]any{"run": r.id, "workflow": r.graph.Workflow.Digest, "step": u.id, "call": u.step().Call, "input": u.rare().input})
	if err != nil {
		return ""
	}
	return digest
}
