package think

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// NextInput answers an instruction.
type NextInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id"`
	StepID   string `json:"step_id"`
	// ResultSnapshot is any JSON value, null too; it is absent where a
	// ResultRef is given, and to ask where a person's step stands.
	ResultSnapshot json.RawMessage `json:"result_snapshot,omitempty" doc:"the step's whole result: any JSON, or the tool's CallToolResult; omit only on human.* steps and with result_ref"`
	// ResultRef is the receipt of the call, in place of its result.
	ResultRef string `json:"result_ref,omitempty" doc:"in place of result_snapshot: the _receipt of the tool's reply"`
	Attempt   int    `json:"attempt,omitempty" doc:"the attempt this answers"`
}

// Next takes a result and returns what comes next. Errors: VALIDATION_FAILED
// or TOOL_FAILED with the same instruction again while attempts are left,
// INVALID_TRANSITION, STATE_CONFLICT, APPROVAL_REQUIRED, NOT_WITNESSED,
// UNKNOWN_RUN, UNKNOWN_STEP, STATE_NOT_SAVED, and what blocks a run.
func (e *Engine) Next(ctx context.Context, in NextInput) (*Reply, error) {
	if in.StepID == "" {
		return nil, fault.New(fault.InvalidParams, "step_id is missing: use the one of the instruction that was answered")
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if in.ResultRef != "" {
		return e.nextByReceipt(ctx, l, in)
	}
	if len(in.ResultSnapshot) == 0 {
		return e.withoutResult(ctx, l, in.StepID)
	}
	given, err := in.submission(in.ResultSnapshot)
	if err != nil {
		return nil, err
	}
	return e.settle(ctx, l, given)
}

// submission is an answer as it was handed in.
type submission struct {
	flow.Answer
	// raw is the result as it came.
	raw json.RawMessage
	// receipt is of the call that gave the result; nil where there is none.
	receipt *state.Receipt
	// carried is the id of the receipt that the answer had in the run that a
	// fork took it from.
	carried string
	// during is the version of the answer whose call asked for this one,
	// noAnswer where that gave none, 0 where nobody was asked.
	during int
}

// submission reads the result of a step: VALIDATION_FAILED.
func (in NextInput) submission(raw json.RawMessage) (submission, error) {
	value, err := jsonvalue.Decode(raw)
	if err != nil {
		return submission{}, fault.New(fault.ValidationFailed, "result_snapshot: %s", err).With(fault.Diagnostic{Path: "result_snapshot", Message: err.Error()})
	}
	digest, err := jsonvalue.Digest(value)
	if err != nil {
		return submission{}, fault.New(fault.ValidationFailed, "result_snapshot: %s", err)
	}
	return submission{Answer: flow.Answer{Step: in.StepID, Attempt: in.Attempt, Result: value, Digest: digest}, raw: raw}, nil
}

// withoutResult answers a call that only asks about a person's step.
func (e *Engine) withoutResult(ctx context.Context, l *live, step string) (*Reply, error) {
	if _, err := l.run.ShownDigest(step); err != nil {
		for _, next := range l.run.Outstanding() {
			if next.StepID == step && next.Witness == "required" {
				return nil, fault.New(fault.InvalidParams, "result_ref is missing: call %s through Savant and send the _receipt of its reply", next.Call)
			}
			if next.StepID == step {
				return nil, fault.New(fault.InvalidParams, "result_snapshot is missing: step %q is %s, send its whole result", step, next.Call)
			}
		}
		if explained, missing := l.run.Explain(step); missing == nil && isAnswered(explained.Status) && (explained.Call == flow.CallApprove || explained.Call == flow.CallAsk) {
			return e.standing(ctx, l) // a person has answered meanwhile
		}
		return nil, err
	}
	standing, err := e.standing(ctx, l)
	if err != nil {
		return nil, err
	}
	return e.person(ctx, l, reply{Reply: standing}, 0)
}

// isAnswered says whether a person's step was settled by an answer; a declined
// approval has failed.
func isAnswered(status flow.Status) bool { return status == flow.Done || status == flow.Failed }

// settle applies an answer, writes it down and replies; l is held and fresh.
func (e *Engine) settle(ctx context.Context, l *live, given submission) (*Reply, error) {
	answer := given.Answer
	version, err := l.run.Answered(answer.Step, answer.Attempt, answer.Digest)
	if err != nil {
		return nil, e.refusal(l.run, err)
	}
	if version > 0 {
		return e.repeat(ctx, l, version)
	}
	if given.receipt != nil {
		if err := e.attest(l, answer.Step, *given.receipt); err != nil {
			return nil, err
		}
	}
	answer.Late = e.late(l, answer.Step)
	data := resultData{resultHead: resultHead{Step: answer.Step, Attempt: answer.Attempt, Digest: answer.Digest, Person: answer.Person, Shown: answer.Shown,
		Witness: answer.Witness, Receipt: given.receiptID(), Late: answer.Late, During: max(given.during, 0)}}
	if data.Result = given.raw; len(given.raw) > inlineLimit {
		if data.ResultRef, err = e.Store.PutArtifact(ctx, given.raw); err != nil {
			return nil, err
		}
		data.Result = nil
	}
	rejected, err := l.run.Settle(answer)
	if err != nil {
		return nil, e.refusal(l.run, err)
	}
	// From here on the run in memory is ahead of its journal: whatever goes
	// wrong, it is read from disk again.
	replied, record, err := e.write(ctx, l, &data, rejected)
	if err != nil {
		l.forget()
		if !errors.Is(err, fault.StateConflict) {
			return nil, err
		}
		// Another process was first. What it did decides: the same answer
		// gets its reply, another step's lets this one follow.
		if err := e.refresh(ctx, l); err != nil {
			return nil, err
		}
		return e.settle(ctx, l, given)
	}
	l.version, l.hash = record.Version, record.Hash
	l.note(record.Version, e.Now())
	e.cool(l, answer.Step, record.Version)
	e.project(l, l.run.Final() != nil || l.run.Blocked() != nil)
	if given.during != 0 {
		return replied.restore()
	}
	return e.person(ctx, l, replied, record.Version)
}

func (e *Engine) write(ctx context.Context, l *live, data *resultData, rejected *fault.Error) (reply, state.Record, error) {
	replied, err := e.answer(ctx, l.run, rejected, e.drifted(l.pins))
	if err != nil {
		return reply{}, state.Record{}, err
	}
	if err := l.run.Lost(); err != nil {
		return reply{}, state.Record{}, err
	}
	if data.Value, data.Size = l.run.Captured(data.Step); data.Value == data.Digest {
		data.Value = sameDigest
	}
	data.Reply = replied
	encoded, err := data.encode()
	if err != nil {
		return reply{}, state.Record{}, fault.New(fault.Internal, "encoding a result: %w", err)
	}
	kind := kindResult
	if data.Person {
		kind = kindPerson
	}
	record, err := e.Store.Append(ctx, l.key, state.Record{Version: l.run.Version(), Kind: kind, Time: e.stamp(),
		Status: string(l.run.Status()), Data: encoded, Encoded: true, State: l.run.Hash()})
	return data.Reply, record, err
}

// refusal returns an error of the core as a client sees it: what blocks a run
// is said with the run's name.
func (e *Engine) refusal(run *flow.Run, err error) error {
	if blocked := run.Blocked(); blocked != nil && errors.Is(err, blocked) {
		return e.blockedFault(run)
	}
	return err
}

// late says whether a step's timeout had passed when its answer came.
func (e *Engine) late(l *live, step string) bool {
	version, timeout := l.run.IssuedAt(step)
	issued, known := l.times[version]
	if timeout == "" || !known {
		return false
	}
	limit, err := time.ParseDuration(timeout)
	return err == nil && e.Now().Sub(issued) > limit
}

func (e *Engine) stamp() string { return e.Now().UTC().Format(time.RFC3339Nano) }
