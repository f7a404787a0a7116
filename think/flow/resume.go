package flow

import (
	"bytes"

	"savant/internal/jsonvalue"
)

// Recorded is an answer that settled its step as done, as a journal tells it.
type Recorded struct {
	Step string
	// Digest is that of the answer, Value the hex SHA-256 of what was captured.
	Digest, Value string
	// Size is the length of the capture in bytes.
	Size    int
	Witness string
	Late    bool
	// Result is the answer as it came, in JSON; nil where it is kept elsewhere.
	Result []byte
}

// Resume applies a recorded answer without rendering and checking what it led
// to then. What it returns must be provided, and Proceed be called, before
// anything else; before a Settle, Proceed must be called in any case. It trusts
// the record: compare the state's hash in the end.
// INVALID_TRANSITION when the record does not follow.
func (r *Run) Resume(recorded Recorded) ([]Ref, error) {
	n, u := r.find(recorded.Step)
	if n == nil {
		return nil, r.unknown(recorded.Step)
	}
	if err := r.expect(n, u, recorded.Step); err != nil {
		return nil, err
	}
	if r.blocked != nil {
		return nil, r.blocked
	}
	r.begin(u, recorded.Digest)
	u.witness, u.late, u.size, u.sum = recorded.Witness, recorded.Late, recorded.Size, u.shared(recorded.Value)
	if u.step().CaptureAs != "" {
		u.restore(recorded)
	}
	u.end(Done, "", nil)
	r.resuming = true
	refs := r.work()
	r.resuming = false
	return refs, nil
}

// restore puts a recorded capture into memory where it is short and its answer
// is there; any other is provided when it is read.
func (u *unit) restore(recorded Recorded) {
	if recorded.Size > Inline || recorded.Result == nil || !u.recapture(recorded) {
		u.away = true
		u.node.away++
	}
}

// recapture makes a capture again from its answer, and says whether it is what
// it was.
func (u *unit) recapture(recorded Recorded) bool {
	if hexSum(recorded.Result) == recorded.Value { // the answer, as it came
		u.value, u.size = bytes.Clone(recorded.Result), len(recorded.Result)
		return true
	}
	var m missing
	if u.readsToAccept() {
		m.node(u.node)
	}
	result, err := jsonvalue.DecodeStored(recorded.Result)
	if err != nil || len(m.refs) > 0 {
		return false
	}
	value, problem := u.accept(Answer{Result: result})
	if problem != nil || hexSum(value) != recorded.Value {
		return false
	}
	u.value, u.size = value, len(value)
	return true
}
