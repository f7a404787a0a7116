package flow

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"savant/fault"
)

// Outcome is the result of an event, or the state of a run: all that the run's driver
// needs.
type Outcome struct {
	// Missing, if not empty, are the captures to pass to Provide, in this order, before
	// Proceed continues the event. All other fields are then unset.
	Missing []Ref
	// Rejected is the error of the answer, if another attempt is left.
	Rejected *fault.Error
	RunID    string
	Workflow *Workflow
	// Version counts the events of the run from 1.
	Version int
	Status  Status
	// Hash is the hex hash of the run's state, "" after LeaveHashes.
	Hash string
	// Instructions wait for an answer, in declaration order.
	Instructions []Instruction
	// Ready are the ids of the first steps that could run too, ReadyTotal
	// counts them all.
	Ready      []string
	ReadyTotal int
	// Change is the effect of the last event.
	Change Change
	// Captured is the hex SHA-256 of the capture of the answered step, if it is done,
	// and Size its length in bytes.
	Captured string
	Size     int
	// Exhausted is the answered step if its last attempt failed, except when a person
	// declined.
	Exhausted string
	// Blocked is why the run cannot go on, or nil.
	Blocked *fault.Error
	// Final is the report of a finished run, or nil; do not change it.
	Final *Final
	// Ran counts the steps that ended done or failed.
	Ran int
}

// maxReady bounds Outcome.Ready.
const maxReady = 10

// Change is the effect of an event, in declaration order.
type Change struct {
	Steps []StepStatus
	Vars  []Var
}

// StepStatus is one line of a run's state.
type StepStatus struct {
	ID      string `json:"-"`
	Status  Status `json:"status"`
	Cause   string `json:"cause,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Witness string `json:"witness,omitempty"`
	Late    bool   `json:"late,omitempty"`
	// Agreed names those who agreed to a human.approve that waits for others.
	Agreed  string `json:"agreed,omitempty"`
	Code    string `json:"code,omitempty"`
	Details string `json:"details,omitempty"`
}

// Var is a capture and its value as canonical JSON. Of a long list that a loop
// made, Value is only the beginning; Size is the length of the whole.
type Var struct {
	Name  string
	Value json.RawMessage
	Size  int
}

// Proceed continues an event after its missing captures were provided. Without a
// pending event it returns the state of the run, with the last event's change.
func (r *Run) Proceed() Outcome {
	if refs := r.work(); len(refs) > 0 {
		return Outcome{Missing: refs}
	}
	var m missing
	for _, u := range r.issued {
		if !u.rare().rendered {
			m.node(u.node)
		}
	}
	for _, n := range r.settled {
		if n.hasCapture() {
			m.beginning(n, longList)
		}
	}
	if len(m.refs) > 0 {
		return Outcome{Missing: m.refs}
	}
	instructions := make([]Instruction, 0, len(r.issued))
	for _, u := range r.issued {
		instructions = append(instructions, u.instruction())
	}
	out := Outcome{RunID: r.id, Workflow: r.graph.Workflow, Rejected: r.rejected, Version: r.version, Status: r.status(), Instructions: instructions,
		Ready: []string{}, ReadyTotal: len(r.ready), Change: r.changed(), Blocked: r.blocked, Final: r.final, Ran: r.ran}
	if !r.unhashed {
		out.Hash = r.hash()
	}
	for _, u := range r.ready[:min(maxReady, len(r.ready))] {
		out.Ready = append(out.Ready, u.id)
	}
	if u := r.answered; u != nil && u.status == Done {
		out.Captured, out.Size = u.sum, u.size
	} else if u != nil && u.status == Failed && !u.step().Person() {
		out.Exhausted = u.id
	}
	return out
}

// begin starts the event of an answer to a unit.
func (r *Run) begin(u *unit, digest string) {
	r.forgetEvent()
	r.answered = u
	if r.cachedBytes > maxCachedBytes {
		r.ReleaseCaptures()
	}
	r.version++
	u.attempts = append(u.attempts, attempt{digest, r.version})
}

// forgetEvent clears the effects of the previous event.
func (r *Run) forgetEvent() {
	for _, touched := range r.touched {
		touched.seen = false
	}
	r.touched, r.settled, r.answered, r.rejected, r.fresh, r.computed = nil, nil, nil, nil, nil, 0
}

func (r *Run) changed() Change {
	var change Change
	touched := slices.Clone(r.touched)
	slices.SortFunc(touched, before)
	for _, u := range touched {
		change.Steps = append(change.Steps, u.describe())
	}
	settled := slices.Clone(r.settled)
	slices.SortStableFunc(settled, func(a, b *nodeState) int {
		return cmp.Or(cmp.Compare(a.frame.prefix, b.frame.prefix), cmp.Compare(a.index, b.index))
	})
	for _, n := range settled {
		if len(n.units) == 0 || n.loop() {
			change.Steps = append(change.Steps, n.describe())
		}
		if n.hasCapture() {
			change.Vars = append(change.Vars, n.variable(n.frame.prefix+n.step().CaptureAs))
		}
	}
	return change
}

func (u *unit) describe() StepStatus {
	s := StepStatus{ID: u.id, Attempt: u.attempt, Witness: u.witness, Late: u.late, Agreed: strings.Join(u.rare().agreed, ", ")}
	s.Status, s.Cause = u.run().finalStatus(u.status, u.cause)
	if failure := u.rare().failure; failure != nil {
		s.Code, s.Details = string(failure.Code), failure.Details
	}
	return s
}

func (n *nodeState) describe() StepStatus {
	s := StepStatus{ID: n.id()}
	s.Status, s.Cause = n.shownStatus()
	return s
}

// shownStatus is the status and cause of a node for a reader: a node counts as issued
// while one of its units is issued.
func (n *nodeState) shownStatus() (Status, string) {
	status := n.status
	if status == Ready && slices.ContainsFunc(n.units, func(u unit) bool { return u.status == Issued }) {
		status = Issued
	}
	return n.frame.run.finalStatus(status, n.cause)
}

// Statement is what the answer to an unknown outcome says: whether the call was done, and
// then its result.
type Statement struct {
	Done   bool
	Result any
}

// StatementOf reads {"unknown_outcome": "done", "result": …} or {"unknown_outcome":
// "not_done"}; false for any other answer.
func StatementOf(answer any) (statement Statement, ok bool) {
	for _, reading := range readings(answer) {
		object, _ := reading.(map[string]any)
		result, given := object["result"]
		switch object["unknown_outcome"] {
		case "done":
			if given && len(object) == 2 {
				return Statement{true, result}, true
			}
		case "not_done":
			return Statement{}, len(object) == 1 || given && len(object) == 2 && (result == nil || result == "")
		}
	}
	return Statement{}, false
}

// askOutcome adds to the failure of a call that somebody has to find out what happened.
func askOutcome(failure *fault.Error) *fault.Error {
	asked := *failure
	asked.Details += "; find out whether it had, do not repeat the call, and answer with result_snapshot: " + howToState
	asked.Diagnostics = slices.Clone(failure.Diagnostics)
	return asked.With(fault.Diagnostic{Path: "result_snapshot", Message: "it is not known whether the call had an effect: find out, and do not repeat the call", Expected: howToState})
}

// holdsUnknown reports whether the step waits for a statement after an unknown outcome,
// and is not issued again by itself.
func (u *unit) holdsUnknown() bool {
	return u.run().terms.HoldUnknown && u.step().Effect == "write" && !u.step().Retry.OnUnknown
}

// admitStatement refuses an answer to an unknown outcome that does not say what happened.
// A person may say it of any step, a model of none that requires a witness.
func (u *unit) admitStatement(answer *Answer) error {
	_, ok := StatementOf(answer.Result)
	switch {
	case answer.Person && answer.Shown != u.run().approvalDigest(u):
		return fault.New(fault.ApprovalRequired, "the question of step %q is not the one that was shown; read it again", u.id)
	case !ok && answer.Person:
		return fault.New(fault.ValidationFailed, "step %q: with done, say in result what the call gave; with not_done, leave it empty", u.id)
	case !ok || !answer.Person && answer.Witness == WitnessGateway:
		return fault.New(fault.ValidationFailed, "step %q: it is not known whether its last call had an effect: find out, do not repeat the call, and answer with result_snapshot: %s", u.id, howToState).
			With(fault.Diagnostic{Path: "result_snapshot", Message: "it does not say what happened", Expected: howToState})
	case !answer.Person && u.step().Witness == "required":
		return fault.New(fault.NotWitnessed, "step %q takes only a result that Savant saw, so only a person can say whether its last call had an effect: savant approve %s %s, or the hub", u.id, u.run().id, u.id)
	}
	answer.Witness = WitnessSelf
	if answer.Person {
		answer.Witness = WitnessPerson
	}
	return nil
}

// reissue issues the unit again as it was, without counting what came between.
func (u *unit) reissue() {
	more := u.more()
	more.unknown, more.shown, more.spared = false, nil, more.spared+1
	u.attempt++
	u.touch()
	u.run().fresh = append(u.run().fresh, u)
}
