package think

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// NextInput answers an instruction.
type NextInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty" doc:"default: your open run" example:"r1"`
	StepID   string `json:"step_id" example:"greet"`
	// ResultSnapshot is any JSON value, null too; it is absent where a
	// ResultRef is given, and to ask where a person's step stands.
	ResultSnapshot json.RawMessage `json:"result_snapshot,omitempty" doc:"the step's whole result: any JSON, or the tool's CallToolResult; omit only on human.* steps and with result_ref" example:"{\"text\":\"Good to see you, Ada!\"}"`
	// ResultRef is the receipt of the call, instead of its result.
	ResultRef string `json:"result_ref,omitempty" doc:"instead: the _receipt of the tool's reply"`
	Attempt   int    `json:"attempt,omitempty" doc:"the attempt this answers"`
	// Caller makes the call: without a RunID, it means a run of its own.
	Caller Caller `json:"-"`
	// Warnings are those of a runtime that answered the step itself.
	Warnings []Warning `json:"-"`
	// Used is what the models took that the runtime asked for the answer, in its own form.
	Used json.RawMessage `json:"-"`
}

// Next takes a result and returns what comes next. Errors: VALIDATION_FAILED
// or TOOL_FAILED with the same instruction again while attempts are left,
// INVALID_TRANSITION, STATE_CONFLICT, APPROVAL_REQUIRED, NOT_WITNESSED, RUN_CANCELLED,
// UNKNOWN_RUN, UNKNOWN_STEP, RESULT_TOO_LARGE, STATE_NOT_SAVED, and what blocks
// a run.
func (e *Engine) Next(ctx context.Context, in NextInput) (*Reply, error) {
	if in.StepID == "" {
		return nil, fault.New(fault.InvalidParams, "step_id is missing: use the one of the instruction that was answered")
	}
	meant, err := e.targetOf(ctx, in.Caller, in.Workflow, in.RunID)
	if last := e.lastReply(ctx, in, meant.before); last != nil {
		if slices.ContainsFunc(meant.open, func(run state.Info) bool { return e.awaits(ctx, run, in.StepID) }) {
			return nil, e.ownsNone(ctx, in.Caller, in.Workflow) // it may as well be an answer to that run
		}
		return last, nil
	}
	if err != nil {
		return nil, err
	}
	replied, err := e.next(ctx, meant.key, in)
	if err != nil && meant.ended { // it is no repeated answer
		return nil, e.ownsNone(ctx, in.Caller, in.Workflow)
	}
	if err != nil {
		return nil, withRunID(meant.id(), err)
	}
	if replied.Fault == nil && replied.waiting == nil {
		return replied.Reply, nil
	}
	if replied.quiet || in.Caller.Apps && (len(in.ResultSnapshot) > 0 || in.ResultRef != "") {
		in.Caller.Ask = nil // the app comes first; who asks again gets the form
	}
	return e.askPerson(ctx, replied, in.Caller)
}

// awaits reports whether a step of a run is issued.
func (e *Engine) awaits(ctx context.Context, run state.Info, step string) bool {
	at, err := e.Position(ctx, run.Workflow, run.Run)
	return err == nil && slices.ContainsFunc(at.Outstanding, func(next flow.Instruction) bool { return next.StepID == step })
}

// lastReply returns the last reply of a run that has ended if the call sends the answer that
// led to it again. Such a run takes no other.
func (e *Engine) lastReply(ctx context.Context, in NextInput, ended state.Key) *Reply {
	if ended == (state.Key{}) || len(in.ResultSnapshot) == 0 && in.ResultRef == "" {
		return nil
	}
	replied, err := e.next(ctx, ended, in)
	if err != nil || replied.Reply == nil || !replied.Reply.Done {
		return nil
	}
	e.callers.note(in.Caller, ended) // it may be sent once more
	return replied.Reply
}

// next takes a result of a run in whichever way it was sent.
func (e *Engine) next(ctx context.Context, run state.Key, in NextInput) (replied eventResult, err error) {
	l, err := e.openAt(ctx, run)
	if err != nil {
		return eventResult{}, err
	}
	defer func() {
		err = e.repeatInstruction(l, in.StepID, err)
		l.mu.Unlock()
	}()
	if err := l.run.Cancelled(); err != nil {
		return eventResult{}, err
	}
	if in.Caller.Admission != nil && l.now.Final == nil && l.now.Blocked == nil {
		if err := in.Caller.Admission.Admit(ctx, l.key, in.StepID, l.run.View().Graph().Enforced()); err != nil {
			return eventResult{}, err
		}
	}
	step, err := l.run.View().Step(in.StepID)
	if err != nil {
		return eventResult{}, err
	}
	if in.ResultRef != "" {
		return e.nextByReceipt(ctx, l, step, in)
	}
	if len(in.ResultSnapshot) == 0 {
		return e.explainWithoutResult(ctx, l, step)
	}
	given, err := in.submission(in.ResultSnapshot)
	if err != nil {
		return eventResult{}, err
	}
	if replied, taken, err := e.nextByClaim(ctx, l, step, in, flow.ClaimOf(given.Result)); taken || err != nil {
		return replied, err
	}
	if err := e.holdAgainstTool(l, step, given); err != nil {
		return eventResult{}, err
	}
	return e.settle(ctx, l, step, given)
}

// Waits adds what the run waits for to the refusal of an answer that could not be read:
// the instruction, and the step if the answer named none.
func (e *Engine) Waits(ctx context.Context, in NextInput, refused error) error {
	meant, err := e.targetOf(ctx, in.Caller, in.Workflow, in.RunID)
	if err != nil || meant.ended {
		return refused
	}
	l, err := e.openAt(ctx, meant.key)
	if err != nil {
		return refused
	}
	defer l.mu.Unlock()
	if in.StepID == "" && l.now.Final == nil && l.now.Blocked == nil {
		refused = fault.From(refused).Hinted(stepHint(l.key.Run, l.now.Instructions))
	}
	return withRunID(meant.id(), e.repeatInstruction(l, in.StepID, refused))
}

// namedSteps bounds the steps that an error names.
const namedSteps = 5

// stepHint names the steps of a run that wait, the zero Hint where none does.
func stepHint(run string, instructions []flow.Instruction) fault.Hint {
	var steps []string
	for _, next := range instructions[:min(len(instructions), namedSteps)] {
		steps = append(steps, fmt.Sprintf("%q (%s)", next.StepID, next.Call))
	}
	if len(steps) == 0 {
		return fault.Hint{}
	}
	return fault.Hint{Text: fmt.Sprintf("run %s waits for step %s: send run_id, step_id and its whole result as result_snapshot, or its receipt as result_ref",
		run, strings.Join(steps, ", "))}
}

// repeatInstruction adds to the error of a refused answer the instruction to do: the
// answered one, or the outstanding ones.
func (e *Engine) repeatInstruction(l *live, step string, err error) error {
	if err == nil || l.run == nil || l.now.Final != nil || l.now.Blocked != nil {
		return err
	}
	failure := *fault.From(err)
	repeated := []fault.Code{fault.InvalidParams, fault.InvalidTransition, fault.UnknownStep, fault.NotWitnessed, fault.StateConflict,
		fault.ApprovalRequired, fault.ValidationFailed, fault.ResultTooLarge}
	if !slices.Contains(repeated, failure.Code) {
		return err
	}
	next, found := l.nearestInstruction(step)
	if !found {
		return err
	}
	now := l.now
	now.Instructions = []flow.Instruction{next}
	failure.Extra = maps.Clone(failure.Extra)
	return failure.Attach("instruction", composeReply(now, everything, false, nil).Reply.Instruction)
}

// nearestInstruction returns the instruction that an answer to a step was for: the step's
// own, else the only one that waits, else the first of those that the step waits for, or
// whose name is near.
func (l *live) nearestInstruction(id string) (next flow.Instruction, found bool) {
	step, err := l.run.View().Step(id)
	if err == nil {
		if next, found = l.instruction(step); found {
			return next, true
		}
	}
	if len(l.now.Instructions) == 1 {
		return l.now.Instructions[0], true
	}
	if err == nil {
		if awaited := l.run.View().Awaited(step); len(awaited) > 0 {
			return l.issued(awaited[0])
		}
	}
	return l.issued(fault.Nearest(id, l.outstanding()))
}

// eventResult is the result of an event, for the call that made it.
type eventResult struct {
	reply
	// version is the version of the event's record; 0 if there was no event.
	version int
	// waiting is the first question to a person, if the run waits for one.
	waiting *Pending
	// quiet: nobody is asked now what the run waits for.
	quiet bool
}

// submission is an answer as the client sent it.
type submission struct {
	flow.Answer
	// step is the id of the step in the record that the answer is read from.
	step string
	// raw is the result as it came.
	raw json.RawMessage
	// receipt is the receipt of the call, or nil.
	receipt *state.Receipt
	// carried is the id of the receipt that the answer had in the run that a
	// fork took it from.
	carried string
	// during is the version of the answer whose call led to this one, or 0.
	during   int
	warnings []Warning
	used     json.RawMessage
	// by made the answer.
	by attribution
}

// maxValues bounds the JSON values of a result, including JSON inside its texts. A
// decoded value takes about a hundred bytes.
const maxValues = 200_000

// submission reads the result of a step: VALIDATION_FAILED, RESULT_TOO_LARGE.
func (in NextInput) submission(raw json.RawMessage) (submission, error) {
	if len(raw) > maxValues && jsonvalue.Count(raw, maxValues) > maxValues {
		return submission{}, in.tooLarge()
	}
	value, err := jsonvalue.Decode(raw)
	if err != nil {
		return submission{}, fault.New(fault.ValidationFailed, "result_snapshot: %s", err).With(fault.Diagnostic{Path: "result_snapshot", Message: err.Error()})
	}
	if len(raw) > maxValues && flow.TooManyValues(value, maxValues) {
		return submission{}, in.tooLarge()
	}
	digest, err := jsonvalue.Digest(value)
	if err != nil {
		return submission{}, fault.New(fault.ValidationFailed, "result_snapshot: %s", err)
	}
	return submission{Answer: flow.Answer{Attempt: in.Attempt, Result: value, Digest: digest}, raw: raw, warnings: in.Warnings, used: in.Used, by: in.Caller.attribution()}, nil
}

func (in NextInput) tooLarge() error {
	return fault.New(fault.ResultTooLarge, "the result of step %q has more than %d JSON values: store it elsewhere and answer with its location",
		fault.Cut(in.StepID, 120), maxValues)
}

// explainWithoutResult answers a call that only asks about a person's step.
func (e *Engine) explainWithoutResult(ctx context.Context, l *live, step flow.Handle) (eventResult, error) {
	next, outstanding := l.instruction(step)
	switch {
	case outstanding && (next.Shown != "" || next.Outcome != "" && next.Witness == "required"):
		return e.currentReply(ctx, l)
	case outstanding && next.Outcome != "":
		return eventResult{}, fault.New(fault.InvalidParams, "result_snapshot is missing: %s", noteOutcome)
	case outstanding && next.Witness == "required":
		return eventResult{}, fault.New(fault.InvalidParams, "result_ref is missing: call %s through Savant and send the _receipt of its reply", next.Call)
	case outstanding:
		return eventResult{}, fault.New(fault.InvalidParams, "result_snapshot is missing: step %q is %s, send its whole result", next.StepID, next.Call)
	}
	explained, err := e.explain(ctx, l.history(), l.run, step)
	if err != nil {
		return eventResult{}, err
	}
	answered := explained.Status == flow.Done || explained.Status == flow.Failed // as a declined approval has
	if answered && flow.AnsweringOf(explained.Call) != flow.NoPerson {
		replied, err := e.currentReply(ctx, l) // a person has answered meanwhile
		replied.quiet = true
		return replied, err
	}
	return eventResult{}, l.run.Expect(step)
}

// settle applies an answer, writes it down and replies; l is held and fresh. Where another
// process was first, what it did decides: the same answer gets its reply, another step's
// lets this one follow.
func (e *Engine) settle(ctx context.Context, l *live, step flow.Handle, given submission) (eventResult, error) {
	for {
		replied, err := e.settleOnce(ctx, l, step, given)
		if !errors.Is(err, fault.StateConflict) || l.run != nil {
			return replied, err
		}
		if err := e.refresh(ctx, l); err != nil {
			return eventResult{}, err
		}
		if step, err = l.run.View().Step(step.ID()); err != nil {
			return eventResult{}, err
		}
	}
}

func (e *Engine) settleOnce(ctx context.Context, l *live, step flow.Handle, given submission) (eventResult, error) {
	answer := given.Answer
	version, err := e.answered(ctx, l, step, given)
	if err != nil {
		return eventResult{}, err
	}
	if version > 0 {
		return e.repeat(ctx, l, version)
	}
	if given.receipt != nil {
		if err := e.attest(ctx, l, step, *given.receipt); err != nil {
			return eventResult{}, err
		}
	}
	answer.Late = e.late(l, step)
	data := answerData{Step: step.ID(), Attempt: answer.Attempt, Digest: answer.Digest, Person: answer.Person, Shown: answer.Shown,
		Witness: answer.Witness, Receipt: given.carried, Late: answer.Late, During: given.during, Warnings: given.warnings, Used: given.used, Result: given.raw, attribution: given.by}
	if given.receipt != nil {
		data.Receipt = given.receipt.ID
	}
	if len(given.raw) > inlineLimit {
		if data.ResultRef, err = e.Store.PutArtifact(ctx, given.raw); err != nil {
			return eventResult{}, err
		}
		data.Result = nil
	}
	out, err := l.run.Settle(step, answer)
	if err != nil {
		return eventResult{}, e.refusal(l, err)
	}
	// From here on the run in memory is ahead of its journal: whatever goes
	// wrong, it is read from disk again.
	replied, err := e.append(ctx, l, data, out)
	if err != nil {
		l.forget()
	}
	return replied, err
}

// answered returns the version of an answer that was given before, or 0 for a new one.
func (e *Engine) answered(ctx context.Context, l *live, step flow.Handle, given submission) (version int, err error) {
	if given.receipt != nil {
		if version, err = e.answeredWith(ctx, l, step, given.receipt.ID); version > 0 || err != nil {
			return version, err
		}
	}
	version, err = l.run.Answered(step, given.Attempt, given.Digest)
	return version, e.refusal(l, err)
}

// append completes the event of an answer and writes its record.
func (e *Engine) append(ctx context.Context, l *live, data answerData, out flow.Outcome) (eventResult, error) {
	out, err := e.proceed(ctx, l.history(), l.run, out)
	if err != nil {
		return eventResult{}, err
	}
	artifacts, err := e.keepArtifacts(ctx, out.Final)
	if err != nil {
		return eventResult{}, err
	}
	replied := composeReply(out, changes, e.drifted(l.pins), artifacts)
	data.Value, data.Size = out.Captured, out.Size
	if data.Value == data.Digest {
		data.Value = sameDigest
	}
	kind := kindResult
	if data.Person {
		kind = kindPerson
	}
	now := e.Now()
	record, err := e.write(ctx, l.key, kind, out, now, resultData{data, replied})
	if err != nil {
		return eventResult{}, err
	}
	l.moved(out, record, now)
	e.project(ctx, l, out.Final != nil || out.Blocked != nil)
	return eventResult{reply: replied, version: record.Version, waiting: l.waiting()}, nil
}

// refusal returns an error of the core as a client sees it; the reason of a blocked run
// names the run.
func (e *Engine) refusal(l *live, err error) error {
	if err == nil {
		return nil
	}
	if blocked := l.now.Blocked; blocked != nil && errors.Is(err, blocked) {
		return blockedFault(l.now)
	}
	return err
}

// late reports whether a step's timeout had passed when its answer came.
func (e *Engine) late(l *live, step flow.Handle) bool {
	next, _ := l.instruction(step)
	issued, known := l.times[next.Version]
	limit, err := time.ParseDuration(next.Timeout)
	return err == nil && known && limit > 0 && e.Now().Sub(issued) > limit
}

// Answer is Next for a result that a person types on behalf of a model or client. An
// invalid result is VALIDATION_FAILED and is not submitted, so a slip costs no attempt.
// The result has no witness.
func (e *Engine) Answer(ctx context.Context, in NextInput) (*Reply, error) {
	if err := e.wouldFit(ctx, in); err != nil && !errors.Is(err, fault.ToolFailed) { // that the tool failed is an answer
		return nil, err
	}
	return e.Next(ctx, in)
}

func (e *Engine) wouldFit(ctx context.Context, in NextInput) error {
	given, err := in.submission(in.ResultSnapshot)
	if err != nil {
		return err
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	step, err := l.run.View().Step(in.StepID)
	if err != nil {
		return err
	}
	return e.check(ctx, l, step, given.Result, false)
}
