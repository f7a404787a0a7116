package think

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/state"
)

// nextByReceipt takes the whole result of the call that a receipt is of.
func (e *Engine) nextByReceipt(ctx context.Context, l *live, step flow.Handle, in NextInput) (eventResult, error) {
	if snapshot := string(in.ResultSnapshot); snapshot != "" && snapshot != "null" {
		return eventResult{}, fault.New(fault.InvalidParams, "result_snapshot and result_ref exclude each other: send result_ref alone where the call has a receipt").
			With(fault.Diagnostic{Path: "result_ref", Message: "result_snapshot was sent, too", Expected: "one of both"})
	}
	if next, outstanding := l.instruction(step); outstanding && next.Shown != "" { // whatever the receipt is of
		given, err := in.submission(json.RawMessage("null"))
		if err != nil {
			return eventResult{}, err
		}
		return e.settle(ctx, l, step, given) // APPROVAL_REQUIRED
	}
	if e.Receipts == nil {
		return eventResult{}, fault.New(fault.NotWitnessed, "result_ref: this server keeps no receipts; send the result as result_snapshot")
	}
	if claim := flow.ClaimOf(in.ResultRef); claim.Receipt != "" { // also quoted, or as JSON
		in.ResultRef = strings.ToLower(claim.Receipt)
	}
	if version, err := e.answeredWith(ctx, l, step, in.ResultRef); err != nil {
		return eventResult{}, err
	} else if version > 0 {
		return e.repeat(ctx, l, version)
	}
	receipt, err := e.Receipts.Receipt(ctx, in.ResultRef)
	if err != nil {
		return eventResult{}, err
	}
	raw, err := ResultOfCall(receipt)
	if err != nil {
		return eventResult{}, err
	}
	given, err := in.submission(raw)
	if err != nil {
		return eventResult{}, err
	}
	given.Witness, given.receipt = flow.WitnessGateway, &receipt
	return e.settle(ctx, l, step, given)
}

// nextByClaim answers with a receipt that was sent instead of a result, or together
// with it. taken is false if the result itself is the answer.
//
// A bare receipt is never a result: NOT_WITNESSED if the receipt is unknown. For a
// reply that carries its receipt, the receipt is the answer if it proves the call;
// otherwise the reply is an ordinary result.
func (e *Engine) nextByClaim(ctx context.Context, l *live, step flow.Handle, in NextInput, claim flow.Claim) (replied eventResult, taken bool, err error) {
	next, outstanding := l.instruction(step)
	if claim.Receipt == "" || outstanding && next.Shown != "" {
		return eventResult{}, false, nil
	}
	id := strings.ToLower(strings.TrimSpace(claim.Receipt))
	asRef := in
	asRef.ResultSnapshot, asRef.ResultRef = nil, id
	if e.Receipts == nil {
		if claim.Alone {
			return eventResult{}, false, notAResult(id)
		}
		return eventResult{}, false, nil
	}
	if version, err := e.answeredWith(ctx, l, step, id); err != nil {
		return eventResult{}, false, err
	} else if version > 0 {
		replied, err = e.repeat(ctx, l, version)
		return replied, err == nil, err
	}
	receipt, err := e.Receipts.Receipt(ctx, id)
	switch {
	case err != nil && !errors.Is(err, fault.NotWitnessed) && !errors.Is(err, fault.InvalidParams):
		return eventResult{}, false, err
	case err != nil && claim.Alone:
		return eventResult{}, false, notAResult(id)
	case err != nil:
		return eventResult{}, false, nil
	case claim.Whole && (!outstanding || e.attest(ctx, l, step, receipt) != nil):
		return eventResult{}, false, nil
	}
	replied, err = e.nextByReceipt(ctx, l, step, asRef)
	return replied, true, err
}

// notAResult refuses an unknown receipt sent as a result.
func notAResult(id string) error {
	return fault.New(fault.NotWitnessed, "result_snapshot is only a receipt, and no receipt %q is kept here: call the tool through Savant and send the _receipt of its reply as result_ref, or send its whole result as result_snapshot", fault.Cut(id, 60)).
		With(fault.Diagnostic{Path: "result_snapshot", Message: "a receipt is not a result", Expected: "the tool's whole result, or result_ref", Actual: fault.Cut(id, 60)})
}

// holdAgainstTool checks a result that nobody witnessed, or that is stated after an unknown
// outcome, against the output schema of the instruction's tool: VALIDATION_FAILED, and
// nothing is recorded.
func (e *Engine) holdAgainstTool(l *live, step flow.Handle, given submission) error {
	next, outstanding := l.instruction(step)
	if !outstanding || given.Attempt > 0 && given.Attempt != next.Attempt {
		return nil
	}
	result := given.Result
	statement, states := flow.StatementOf(result)
	if next.Outcome != "" {
		if result = statement.Result; !statement.Done {
			return nil
		}
	} else if states && step.Tool() != "" {
		return fault.New(fault.ValidationFailed, "step %q: no call of this attempt has an unknown outcome: call %s and send its _receipt as result_ref, or its whole result as it came", next.StepID, next.Call)
	} else if next.Shown != "" || next.Witness == "required" {
		return nil
	}
	var first error
	for _, value := range l.run.View().Values(result) {
		err := e.Tools.Fits(next.Call, value)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil // the tool failed
	}
	violation := fault.From(first)
	if next.Outcome != "" {
		return fault.New(fault.ValidationFailed, "step %q: the stated result does not fit %s: %s", next.StepID, next.Call, violation.Message()).With(violation.Diagnostics...)
	}
	return fault.New(fault.ValidationFailed, "step %q: this is not a result of %s: %s. Call %s and send its _receipt as result_ref, or its whole result as it came. Send it as {\"isError\": true, \"content\": …} if the call failed or its result never fits: that ends the attempt, and after the last one the step",
		next.StepID, next.Call, violation.Message(), next.Call).With(violation.Diagnostics...)
}

// ResultOfCall returns the result that a client would have sent: for a failed call a
// CallToolResult with the error. The receipt's input is the step's, so a tool that
// refused it would refuse it again.
func ResultOfCall(receipt state.Receipt) (json.RawMessage, error) {
	if !receipt.Failed {
		return receipt.Result, nil
	}
	var failure fault.Error
	if err := json.Unmarshal(receipt.Result, &failure); err != nil {
		return nil, fault.New(fault.Internal, "the fault of a call cannot be read: %w", err)
	}
	return jsonvalue.Encoded(schemas.FailedCall(failure.Final())), nil
}

// answeredWith returns the version of the answer that a receipt gave to a step, or 0: a
// receipt counts once, so the same one again is the same answer, whatever became of it.
func (e *Engine) answeredWith(ctx context.Context, l *live, step flow.Handle, receipt string) (int, error) {
	for _, version := range step.Answers() {
		record, err := e.record(ctx, l.history(), version)
		if err != nil {
			return 0, err
		}
		var data answerData
		if err := decodeData(record, &data); err != nil {
			return 0, err
		}
		if data.Receipt == receipt {
			return version, nil
		}
	}
	return 0, nil
}

// attest accepts a receipt if its call used the instruction's tool and input and
// happened after the step was last issued: an older receipt would repeat an observation
// from before the work in between. Its command must be the one pinned by the run.
// NOT_WITNESSED says what differs, and nothing changes. A step that is not outstanding
// has no call that a receipt could be of: INVALID_TRANSITION.
func (e *Engine) attest(ctx context.Context, l *live, step flow.Handle, receipt state.Receipt) error {
	next, outstanding := l.instruction(step)
	if !outstanding {
		return fault.New(fault.InvalidTransition, "step %q waits for no call, so the receipt %s is not of its call", step.ID(), receipt.ID)
	}
	if next.Shown != "" {
		return nil // a person's step says itself who answers it
	}
	if err := e.compareCall(next, receipt); err != nil {
		return err
	}
	if asked, known := l.times[next.Version]; known && receipt.Time.Before(asked) {
		return unwitnessed(next.StepID, receipt, "belongs to a call made before the step was issued: "+e.whenToCall(next.Call, asked),
			"after "+asked.UTC().Format(time.RFC3339Nano), receipt.Time.UTC().Format(time.RFC3339Nano))
	}
	if planned, held := l.commands[receipt.Command]; len(l.commands) > 0 && receipt.CommandDigest != "" && (!held || planned != receipt.CommandDigest) {
		return unwitnessed(next.StepID, receipt, "belongs to the command "+receipt.Command+", which is not what it was when the run was planned: put the command back, or plan a new run",
			"command "+cmp.Or(planned, "none of that name"), "command "+receipt.CommandDigest)
	}
	if err := e.attestChoice(ctx, l, next.StepID, receipt); err != nil {
		return err
	}
	return e.attestUse(ctx, l, step, next.Version, receipt)
}

// usedSince returns the step of the run that a receipt answered after a version, "" if none:
// a call that came after a step was issued was not used before.
func (e *Engine) usedSince(ctx context.Context, l *live, issued int, receipt state.Receipt) (string, error) {
	for version := issued + 1; version <= l.now.Version; version++ {
		record, err := e.record(ctx, l.history(), version)
		if err != nil {
			return "", err
		}
		var data answerData
		if record.Kind == kindResult && bytes.Contains(record.Data, []byte(receipt.ID)) && decodeData(record, &data) == nil && data.Receipt == receipt.ID {
			return "step " + data.Step + " of " + l.key.String(), nil
		}
	}
	return "", nil
}

// attestUse refuses a receipt that has answered another step of this run, or one with an
// effect of any other: a call counts once. What was read, other runs may see.
func (e *Engine) attestUse(ctx context.Context, l *live, step flow.Handle, issued int, receipt state.Receipt) error {
	use := "step " + step.ID() + " of " + l.key.String()
	taken, err := e.usedSince(ctx, l, issued, receipt)
	if err == nil && taken == "" && receipt.Run == "" && step.Writes() {
		taken, err = e.Receipts.UseReceipt(ctx, receipt.ID, use)
	}
	if err != nil || taken == "" || taken == use {
		return err
	}
	return unwitnessed(step.ID(), receipt, "belongs to a call that answered "+taken+": make the call again for this step", "a call for this step", taken)
}

// attestChoice refuses a receipt that was chosen among several: it must be of a call
// that the run made itself, or of the last call of its kind that a client made. An
// earlier one that saw the same is as good.
func (e *Engine) attestChoice(ctx context.Context, l *live, step string, receipt state.Receipt) error {
	switch {
	case receipt.Run == l.key.Run:
		return nil
	case receipt.Run != "":
		return unwitnessed(step, receipt, "belongs to a call that run "+receipt.Run+" made for itself: make the call yourself", "a call for this run", "run "+receipt.Run)
	}
	latest, err := e.Receipts.LatestCall(ctx, receipt.Tool, receipt.Input)
	if err != nil || latest.ID == "" || latest.ID == receipt.ID || latest.Output == receipt.Output || latest.Time.Before(receipt.Time) {
		return err
	}
	return unwitnessed(step, receipt, "does not belong to the latest call of "+receipt.Tool+", which had another result: send "+latest.ID, latest.ID, receipt.ID)
}

// whenToCall explains how to get a recent enough receipt. While the clock is before the
// time the step was issued, no call can produce one.
func (e *Engine) whenToCall(call string, asked time.Time) string {
	if behind := asked.Sub(e.Now()); behind > 0 {
		return fmt.Sprintf("the clock was set back by %s since; set it right, or issue the step again with think.reset, and call %s again",
			behind.Round(time.Second), call)
	}
	return "call " + call + " again now"
}

// compareCall describes how a receipt's call differs from the instruction's.
func (e *Engine) compareCall(next flow.Instruction, receipt state.Receipt) error {
	tool, digest, err := e.Tools.Asked(next.Call, jsonvalue.Encoded(next.Input))
	switch {
	case tool != receipt.Tool:
		return unwitnessed(next.StepID, receipt, "belongs to a call of "+receipt.Tool+", not of "+next.Call, next.Call, receipt.Tool)
	case err != nil:
		return unwitnessed(next.StepID, receipt, "belongs to a call of "+receipt.Tool+", which refuses the input of the instruction: "+fault.From(err).Message(),
			string(jsonvalue.Encoded(next.Input)), orAbsent(receipt.Arguments))
	case digest != receipt.Input:
		return otherInput(next, receipt)
	}
	return nil
}

// otherInput describes a receipt with other arguments: both inputs, and each member
// that differs.
func otherInput(next flow.Instruction, receipt state.Receipt) error {
	what := "belongs to a call of " + receipt.Tool + " with other arguments: call it with exactly the instruction's input"
	input := jsonvalue.Encoded(next.Input)
	if len(receipt.Arguments) == 0 {
		return unwitnessed(next.StepID, receipt, what, string(input), "other arguments, which the receipt does not keep")
	}
	wrong := fault.From(unwitnessed(next.StepID, receipt, what, string(input), string(receipt.Arguments)))
	var asked, given map[string]json.RawMessage
	if json.Unmarshal(input, &asked) != nil || json.Unmarshal(receipt.Arguments, &given) != nil {
		return wrong
	}
	for _, name := range slices.Compact(slices.Sorted(seqOf(asked, given))) {
		one, here := asked[name]
		other, there := given[name]
		if here && there && sameJSON(one, other) {
			continue
		}
		wrong.With(fault.Diagnostic{Path: "input." + name, Message: "differs", Expected: orAbsent(one), Actual: orAbsent(other)})
	}
	return wrong
}

// seqOf returns the names of both, some twice.
func seqOf(one, other map[string]json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, each := range []map[string]json.RawMessage{one, other} {
			for name := range each {
				if !yield(name) {
					return
				}
			}
		}
	}
}

func orAbsent(value json.RawMessage) string {
	if value == nil {
		return "absent"
	}
	return string(value)
}

func unwitnessed(step string, receipt state.Receipt, what, expected, actual string) error {
	return fault.New(fault.NotWitnessed, "step %q: the receipt %s %s", step, receipt.ID, what).
		With(fault.Diagnostic{Path: "result_ref", Message: "the receipt does not belong to this instruction", Expected: expected, Actual: actual})
}
