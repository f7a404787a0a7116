package flow

import (
	"crypto/sha256"
	"encoding/hex"

	"savant/fault"
)

// Recorded is an answer that settled its step as done, as a journal tells it.
// Applying it again costs no rendering and no checking, and its value is read
// back only when something needs it.
type Recorded struct {
	Step string
	// Digest is that of the answer, Value the hex SHA-256 of what was captured.
	Digest, Value string
	// Size is the length of the capture in bytes.
	Size    int
	Witness string
	Late    bool
	// Answer reads the answer back.
	Answer func() (Answer, error)
}

// Resume applies a recorded answer. It trusts the record: only records that
// are known to be whole may be resumed, and the state's hash must be compared
// at the end. INVALID_TRANSITION when the record does not follow.
func (r *Run) Resume(recorded Recorded) error {
	n, u := r.find(recorded.Step)
	if n == nil {
		return r.unknown(recorded.Step)
	}
	if err := r.expect(n, u, recorded.Step); err != nil {
		return err
	}
	if r.blocked != nil {
		return r.blocked
	}
	r.newEvent()
	r.version++
	u.attempts = append(u.attempts, attempt{recorded.Digest, r.version})
	u.witness, u.late, u.sum = recorded.Witness, recorded.Late, recorded.Value
	u.size = recorded.Size
	if u.step().CaptureAs != "" {
		u.load = func() ([]byte, error) { return u.reload(recorded.Value, recorded.Answer) }
	}
	r.resuming = true
	u.end(Done, "", nil)
	r.work()
	r.resuming = false
	return r.lost
}

// shortValue is the length in bytes up to which a capture stays in memory: less
// than what reading it back would need.
const shortValue = 256

// Release lets go of what a step captured, where it is long: once the record
// of the answer is durable, answer reads it back when something needs it.
func (r *Run) Release(step string, answer func() (Answer, error)) {
	_, u := r.find(step)
	if u == nil || len(u.value) <= shortValue || u.status != Done || len(u.rounds()) > 0 {
		return
	}
	sum := u.sum
	u.value, u.load = nil, func() ([]byte, error) { return u.reload(sum, answer) }
}

// reload makes a recorded value again and holds it against its digest.
func (u *unit) reload(recorded string, read func() (Answer, error)) ([]byte, error) {
	answer, err := read()
	if err != nil {
		return nil, err
	}
	value, problem := u.accept(answer)
	if problem != nil {
		return nil, fault.New(fault.StateCorrupt, "the recorded result of step %q is not accepted any more: %s", u.id, problem.Details)
	}
	if sum := sha256.Sum256(value); hex.EncodeToString(sum[:]) != recorded {
		return nil, fault.New(fault.StateCorrupt, "the recorded result of step %q gives another value than it did", u.id)
	}
	return value, nil
}

// bytes returns the canonical JSON of the unit's capture, nil for none.
func (u *unit) bytes() []byte {
	if u.value != nil || u.load == nil {
		return u.value
	}
	value, err := u.load()
	if err != nil {
		if u.run().lost == nil {
			u.run().lost = err
		}
		return []byte("null")
	}
	u.value, u.load = value, nil
	return value
}

// Lost returns why a recorded value could not be read back, or nil. A run
// that has lost one must not be used.
func (r *Run) Lost() error { return r.lost }

// Captured returns the digest and size of what a step captured when it is
// done, else "" and 0.
func (r *Run) Captured(step string) (sum string, size int) {
	if _, u := r.find(step); u != nil && u.status == Done {
		return u.sum, u.size
	}
	return "", 0
}
