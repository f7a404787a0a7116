package flow

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Change is what the last event did.
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

// longList is the size in bytes from which a loop's list is not put together
// only to be shown.
const longList = 4 << 10

// Changed returns what the last Start or Settle changed, in declaration order.
func (r *Run) Changed() Change {
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
		if name := n.step().CaptureAs; name != "" && n.has {
			change.Vars = append(change.Vars, n.variable(n.frame.prefix+name))
		}
	}
	return change
}

func (u *unit) describe() StepStatus {
	s := StepStatus{ID: u.id, Status: u.status, Cause: u.cause, Attempt: u.attempt, Witness: u.witness, Late: u.late}
	if failure := u.rare().failure; failure != nil {
		s.Code, s.Details = string(failure.Code), failure.Details
	}
	return s
}

func (n *nodeState) describe() StepStatus {
	return StepStatus{ID: n.id(), Status: n.standing(), Cause: n.cause}
}

// standing is the status of a node as a reader means it: issued as long as a
// unit of it is.
func (n *nodeState) standing() Status {
	if n.status == Ready && slices.ContainsFunc(n.units, func(u unit) bool { return u.status == Issued }) {
		return Issued
	}
	return n.status
}

func (r *Run) newEvent() {
	for _, u := range r.touched {
		u.seen = false
	}
	r.touched, r.settled = nil, nil
}
