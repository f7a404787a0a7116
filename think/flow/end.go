package flow

import (
	"bytes"
	"cmp"
	"fmt"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// fail settles the unit as failed, and acts on on_failure.
func (u *unit) fail(err *fault.Error) {
	value := []byte(nil)
	if u.step().OnFailure != Fail {
		value = []byte("null")
	}
	u.settle(Failed, "", value, err)
}

// settle ends a unit and, with the last one, its node.
func (u *unit) settle(status Status, cause string, value []byte, failure *fault.Error) {
	if u.step().CaptureAs != "" { // no other reference to it exists
		if u.value = value; cap(value) > 2*len(value) {
			u.value = bytes.Clone(value) // a loop has many short ones
		}
	}
	if value != nil {
		u.sum, u.size = u.shared(jsonvalue.HexSum(value)), len(value)
	}
	u.end(status, cause, failure)
}

// shared returns the equal string of the unit's last answer, if any, to save memory:
// most captures are the answer itself.
func (u *unit) shared(digest string) string {
	if last := len(u.attempts) - 1; last >= 0 && u.attempts[last].digest == digest {
		return u.attempts[last].digest
	}
	return digest
}

// end is settle for a unit whose value is known by its sum.
func (u *unit) end(status Status, cause string, failure *fault.Error) {
	r, n := u.run(), u.node
	switch u.status {
	case Ready:
		r.ready = remove(r.ready, u)
	case Issued:
		r.issued = remove(r.issued, u)
	}
	u.status, u.cause = status, cause
	u.conclude(failure)
	if status != Skipped {
		r.ran++
	}
	if status == Failed {
		u.frame().failed = append(u.frame().failed, u)
	}
	n.open--
	u.touch()
	if n.open == 0 {
		n.finish()
	}
	if status == Failed && u.step().OnFailure == SkipRest {
		n.frame.halt("skip_rest", false)
	}
}

// conclude keeps the values of an ended unit that are still needed.
func (u *unit) conclude(failure *fault.Error) {
	kept := extra{failure: failure, rounds: u.rounds(), outputs: u.rare().outputs}
	u.extra = nil
	if kept.failure != nil || kept.rounds != nil || kept.outputs != nil {
		u.extra = &kept
	}
}

// finish settles a node whose units are settled. A loop that stopped before its last item
// is skipped: its capture lists what was done.
func (n *nodeState) finish() {
	status, cause, bad := Done, "", ""
	for i := range n.units {
		u := &n.units[i]
		switch u.status {
		case Skipped:
			if !n.loop() || n.stopped(u) {
				cause = u.cause
			}
		case Failed:
			status = Failed
			if n.step().OnFailure == Fail {
				bad = n.id()
			}
		}
	}
	n.bad = bad
	if status == Failed && n.loop() && n.step().OnFailure == Continue {
		status = Done
	}
	if status == Done && cause != "" {
		status = Skipped
	} else {
		cause = ""
	}
	n.has = n.captures(status)
	n.settleNode(status, cause)
	if bad != "" {
		n.frame.halt("run_failed", false)
	}
}

// stopped reports whether a skipped item was not tried because its frame stopped.
func (n *nodeState) stopped(u *unit) bool {
	return n.frame.graph.edition >= ThirdEdition && n.frame.haltCause != "" && u.cause == n.frame.haltCause
}

// captures reports whether a settled node has a value.
func (n *nodeState) captures(status Status) bool {
	if n.loop() {
		return n.bad == ""
	}
	return status != Skipped && n.units[0].sum != ""
}

// settleNode ends a node and releases the nodes that waited for it.
func (n *nodeState) settleNode(status Status, cause string) {
	r, f := n.frame.run, n.frame
	n.status, n.cause = status, cause
	r.settled = append(r.settled, n)
	n.changed(nil)
	for _, dependent := range n.node().dependents {
		f.nodes[dependent].release()
	}
	f.passBarriers()
	if !n.node().late {
		f.endEarly()
	}
	if f.open--; f.open == 0 {
		r.queue = append(r.queue, task{close: f})
	}
}

// halt stops issuing in a frame: it skips the steps not yet issued, except `join: done`
// steps, which still run. above says that an outer frame ended.
func (f *frame) halt(cause string, above bool) {
	if f.haltCause != "" || f.closed {
		return
	}
	f.haltCause, f.haltedAbove = cause, above
	for _, i := range f.graph.order {
		n := &f.nodes[i]
		switch {
		case n.status.settled():
		case n.units == nil && n.step().Join != JoinDone:
			up, bad := n.upstream()
			n.bad = bad
			n.settleNode(Skipped, cmp.Or(up, cause))
		case n.step().Join != JoinDone:
			n.haltUnits(cause)
		}
	}
}

// upstream returns the cause for which the step is skipped because of a failed one
// before it, a barrier too, and that one.
func (n *nodeState) upstream() (cause, bad string) {
	for _, dep := range n.node().after() {
		if d := &n.frame.nodes[dep]; d.bad != "" {
			return "upstream_failed:" + d.bad, d.bad
		}
	}
	return "", ""
}

func (n *nodeState) haltUnits(cause string) {
	for i := range n.units {
		u := &n.units[i]
		switch {
		case u.status.settled():
		case u.step().Call == CallRun && len(u.rounds()) > 0:
			u.rounds()[len(u.rounds())-1].halt(cause, true)
		case u.status != Issued:
			u.settle(Skipped, cause, nil, nil)
		}
	}
}

// Cancellation says who cancelled a run, and why.
type Cancellation struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// causeCancelled is the cause of the steps that a cancellation skipped.
const causeCancelled = "cancelled"

// Cancel ends the run: it withdraws the outstanding instructions and issues no more. As
// an event it makes a version. INVALID_TRANSITION for a run that has ended,
// RUN_CANCELLED for one that was cancelled.
func (r *Run) Cancel(by Cancellation) (Outcome, error) {
	switch {
	case r.cancelled != nil:
		return Outcome{}, r.Cancelled()
	case r.final != nil:
		return Outcome{}, fault.New(fault.InvalidTransition, "run %s is %s: there is nothing to cancel", r.id, r.status())
	}
	r.forgetEvent()
	r.version++
	r.cancelled = &by
	for _, u := range r.issued {
		u.touch()
	}
	r.issued, r.ready, r.queue, r.blocked = nil, nil, nil, nil
	r.final = &Final{Outcome: string(Cancelled), Ran: r.ran, Outputs: map[string]any{}, Artifacts: []FinalArtifact{}, Failed: r.failureReport()}
	r.final.Summary = fmt.Sprintf("%s %s: %s, %d of %d steps ran", r.graph.Workflow.Name, r.graph.Workflow.Version, by, r.ran, r.total())
	return r.Proceed(), nil
}

// Cancelled returns the error of a run that was cancelled, nil for any other.
func (r *Run) Cancelled() error {
	if r.cancelled == nil {
		return nil
	}
	return fault.New(fault.RunCancelled, "run %s was %s", r.id, r.cancelled).
		Hinted(fault.Hint{Text: "none of its steps waits; to start a new run with its answers: savant state fork " + r.id})
}

// String describes the cancellation: "cancelled by ada: the branch is gone".
func (c Cancellation) String() string {
	text := "cancelled by " + c.By
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// finalStatus is a step's status and cause as a reader means them: what had not ended when the
// run was cancelled never will.
func (r *Run) finalStatus(status Status, cause string) (Status, string) {
	if r.cancelled != nil && !status.settled() {
		return Skipped, causeCancelled
	}
	return status, cause
}
