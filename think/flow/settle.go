package flow

import (
	"bytes"
	"fmt"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// Witnesses: who saw the result come about.
const (
	WitnessSelf    = "self"
	WitnessGateway = "gateway"
	WitnessPerson  = "person"
)

// Answer is the answer to an instruction.
type Answer struct {
	// Attempt is the attempt the answer is for; 0 where the client does not say.
	Attempt int
	// Result is any JSON value in the forms of jsonvalue. It is taken over.
	Result any
	// Digest identifies the answer as it came: jsonvalue.Digest of Result.
	Digest string
	// Person says that a person answered, and Shown what they were shown:
	// the instruction's Shown.
	Person bool
	Shown  string
	// By names the person.
	By string
	// Witness is one of the Witness constants.
	Witness string
	// Late says that the step's timeout had passed.
	Late bool
}

// Answered detects a repeated answer: it returns the version that the first one made,
// or 0 for a new answer. A different answer to a settled step is STATE_CONFLICT; a step
// that was not issued is INVALID_TRANSITION. A cancelled run refuses
// all answers, even repeated ones: RUN_CANCELLED.
func (r *Run) Answered(step Handle, attempt int, digest string) (version int, err error) {
	if r.cancelled != nil {
		return 0, r.Cancelled()
	}
	u := step.unit
	if u == nil || len(u.attempts) == 0 {
		return 0, r.Expect(step)
	}
	made := len(u.attempts)
	switch {
	case attempt > 0 && attempt <= made:
		return u.repeat(attempt-1, digest)
	case u.status.settled() && attempt <= 0:
		return u.repeat(made-1, digest)
	case u.status == Failed && !u.step().Person():
		return 0, fault.New(fault.InvalidTransition, "step %q failed at attempt %d, its last", u.id, u.attempt).Attach("expected", r.issuedIDs()).Hinted(u.reopening())
	case attempt > u.attempt || u.status.settled():
		return 0, fault.New(fault.InvalidTransition, "step %q is at attempt %d, not %d", u.id, u.attempt, attempt).Attach("expected", r.issuedIDs())
	}
	return 0, r.Expect(step)
}

func (u *unit) repeat(index int, digest string) (int, error) {
	if given := u.attempts[index]; given.digest == digest {
		return given.version, nil
	}
	conflict := fault.New(fault.StateConflict, "step %q already has a different answer (attempt %d, recorded as version %d)",
		u.id, index+1, u.attempts[index].version)
	if u.status == Failed && !u.step().Person() {
		conflict = fault.New(fault.StateConflict, "step %q failed at its last attempt (%d, recorded as version %d) and accepts no other answer",
			u.id, index+1, u.attempts[index].version)
	}
	switch {
	case u.step().Person():
		return 0, conflict // it is not for a model to ask again
	case !u.status.settled():
		return 0, conflict.Hinted(fault.Hint{Text: fmt.Sprintf("the step is at attempt %d now", u.attempt)})
	}
	return 0, conflict.Hinted(u.reopening())
}

// Reopen is the call that opens a step again.
func Reopen(run, step string, over bool) string {
	force := ""
	if over {
		force = `, "force": true`
	}
	return fmt.Sprintf(`think.reset {"run_id": %q, "checkpoint": %q%s}`, run, step, force)
}

func (u *unit) reopening() fault.Hint {
	call, arguments, _ := strings.Cut(Reopen(u.run().id, u.id, u.run().final != nil), " ")
	return fault.Hint{Call: call, Text: arguments + " returns to the version before its answer"}
}

// Settle takes a new answer; call Answered first. An error means that nothing
// changed: INVALID_TRANSITION, APPROVAL_REQUIRED, NOT_WITNESSED,
// or what blocks the run.
func (r *Run) Settle(step Handle, answer Answer) (Outcome, error) {
	if err := r.Expect(step); err != nil {
		return Outcome{}, err
	}
	u := step.unit
	if r.blocked != nil {
		return Outcome{}, r.blocked
	}
	if answer.Attempt > 0 && answer.Attempt != u.attempt {
		return Outcome{}, fault.New(fault.InvalidTransition, "step %q is at attempt %d, not %d", u.id, u.attempt, answer.Attempt).Attach("expected", r.issuedIDs())
	}
	if err := u.admit(&answer); err != nil {
		return Outcome{}, err
	}
	r.begin(u, answer.Digest)
	r.queue = []task{{accept: &answer}}
	return r.Proceed(), nil
}

// take settles the unit with an answer, or issues it again if the answer does not fit
// and another attempt is left.
func (u *unit) take(answer Answer) {
	u.witness, u.late = answer.Witness, answer.Late
	if u.rare().unknown {
		if statement, _ := StatementOf(answer.Result); !statement.Done {
			u.reissue()
			return
		}
		u.stated = true
	}
	answer.Result = u.failureOf(answer.Result)
	value, problem := u.accept(answer.Result)
	switch {
	case problem == nil && u.agrees(answer):
		return
	case problem == nil:
		u.settle(Done, "", value, nil)
		u.hold()
		return
	case !u.stated && u.holdsUnknown() && unknownOutcome(answer.Result):
		u.more().unknown = true
		u.more().spared++
		problem = askOutcome(problem)
	case u.stated && u.run().terms.SpareStatements:
		u.more().spared++
	case u.step().Person() || u.attempt-u.rare().spared > u.step().Retry.Max || !u.stated && permanentFailure(answer.Result):
		u.fail(problem)
		return
	}
	u.stated = false
	u.attempt++
	u.more().shown = problem
	u.touch()
	u.run().rejected = problem
}

// admit refuses unauthorized answers: a model's answer for a person, or a result
// without the required witness.
func (u *unit) admit(answer *Answer) error {
	if u.rare().unknown {
		return u.admitStatement(answer)
	}
	if u.step().Person() {
		shown := u.run().approvalDigest(u)
		switch {
		case !answer.Person:
			return fault.New(fault.ApprovalRequired, "step %q waits for a person: a model cannot answer it. Ask the person to run: savant approve %s %s", u.id, u.run().id, u.id).
				Attach("expected", u.run().issuedIDs())
		case answer.Shown != shown:
			return fault.New(fault.ApprovalRequired, "the approval is void: the question of step %q is not the one that was shown; read it again", u.id).
				With(fault.Diagnostic{Path: u.id, Message: "digest of what was shown", Expected: shown, Actual: answer.Shown})
		}
		if err := u.step().Approval.Admits(u.id, answer.By, u.rare().agreed, declined(u.step(), answer.Result)); err != nil {
			return err
		}
		answer.Witness = WitnessPerson
	}
	if answer.Witness == "" {
		answer.Witness = WitnessSelf
	}
	if u.step().Witness == "required" && answer.Witness != WitnessGateway && !u.run().terms.failedCall(answer.Result) {
		return fault.New(fault.NotWitnessed, "step %q takes only a result that Savant saw: call %s through Savant and send the _receipt of its reply as result_ref, without a result_snapshot; if the call cannot be made or is refused, send its error with \"isError\": true", u.id, u.step().Call)
	}
	return nil
}

// declined reports whether a value is a person's refusal of an approval.
func declined(step *Step, value any) bool {
	given, _ := value.(map[string]any)
	approved, ok := given["approved"].(bool)
	return step.Answering() == Decides && ok && !approved
}

// Check validates an answer without applying it, so that an error costs no attempt. It
// leaves authorization, and a person's refusal, to Settle. It returns refs if captures
// that the step reads are missing.
func (r *Run) Check(step Handle, value any, person bool) (*fault.Error, []Ref) {
	u := step.unit
	if r.cancelled != nil || u == nil || u.status != Issued || declined(u.step(), value) {
		return nil, nil
	}
	if statement, ok := StatementOf(value); u.rare().unknown {
		if !ok || !statement.Done {
			return nil, nil
		}
		value = statement.Result
	} else if u.step().Person() != person {
		return nil, nil
	}
	var m missing
	if m.node(u.node); len(m.refs) > 0 {
		return nil, m.refs
	}
	_, problem := u.accept(value)
	return problem, nil
}

// askSchema compiles the schema of a human.ask, if it has one.
func (u *unit) askSchema() *schemas.Schema {
	u.render()
	input, _ := u.rare().input.(map[string]any)
	if input["schema"] == nil {
		return nil
	}
	schema, err := u.frame().graph.Workflow.set.Inline(input["schema"])
	if err != nil {
		return nil // checked when it was issued
	}
	return schema
}

// askedText is the schema of the answer to a human.ask as it is written: that of its
// input, else its success_schema.
func (u *unit) askedText() []byte {
	if u.step().Answering() != FillsIn {
		return nil
	}
	input, _ := u.rare().input.(map[string]any)
	schema := input["schema"]
	if schema == nil {
		return u.frame().graph.Workflow.set.Whole(u.step().asked)
	}
	if written := u.step().input.field("schema"); written != nil {
		schema = written.ordered(schema)
	}
	raw, err := jsonvalue.Encode(schema)
	if err != nil {
		return nil // checked when it was issued
	}
	return u.frame().graph.Workflow.set.Whole(raw)
}

// Recorded is a journal's record of an answer that settled its step as done.
type Recorded struct {
	// Digest is the digest of the answer, Value the hex SHA-256 of the capture.
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
func (r *Run) Resume(step Handle, recorded Recorded) ([]Ref, error) {
	if err := r.Expect(step); err != nil {
		return nil, err
	}
	u := step.unit
	if r.blocked != nil {
		return nil, r.blocked
	}
	r.begin(u, recorded.Digest)
	u.stated = u.rare().unknown
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
	var m missing
	if u.readsToAccept() {
		m.node(u.node)
	}
	if recorded.Size <= Inline && recorded.Result != nil && len(m.refs) == 0 {
		if value, err := u.recapture(recorded.Result); err == nil {
			u.value, u.size = bytes.Clone(value), len(value)
			return
		}
	}
	u.away = true
	u.node.away++
}
