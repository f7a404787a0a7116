package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think"
	"savant/think/flow"
)

// result is the result of an attempt.
type result struct {
	// snapshot is the value, or a CallToolResult with isError if the call failed.
	snapshot json.RawMessage
	// receipt is the id of the call's receipt, or empty.
	receipt string
	// left is set if the step is left to somebody else; the attempt then did nothing.
	left *handOver
	// warnings say what the model that answered did not see.
	warnings []think.Warning
	// used is what the model took.
	used Usage
	// void: the attempt was interrupted and does not count.
	void bool
}

// maxPause is where the doubling of a step's back-off ends.
const maxPause = 10 * time.Minute

// pauseBefore returns how long to wait before an attempt: the step's backoff before the
// second, doubled for each further one.
func pauseBefore(backoff string, attempt int) time.Duration {
	pause, err := time.ParseDuration(backoff)
	if err != nil || attempt < 2 {
		return 0
	}
	for range attempt - 2 {
		if pause < maxPause {
			pause = min(2*pause, maxPause)
		}
	}
	return pause
}

// errLate is the cause of the context of a step that exceeded its timeout.
var errLate = errors.New("the step timed out")

// attempt executes an instruction once, within its timeout.
func (v *drive) attempt(ctx context.Context, next flow.Instruction) finished {
	if !sleep(ctx, pauseBefore(next.Backoff, next.Attempt)) {
		return finished{next: next, result: result{void: true}}
	}
	v.emit(Event{Kind: Begins, StepID: next.StepID, Call: next.Call, Attempt: next.Attempt})
	began := time.Now()
	limited := ctx
	if limit, err := time.ParseDuration(next.Timeout); err == nil && limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, limit, errLate)
		defer cancel()
	}
	call := v.call
	call.Progress = v.working(limited, next)
	call.Step = engines.WorkflowStep{Workflow: v.at.Workflow, RunID: v.at.RunID, StepID: next.StepID}
	got, err := v.carryOut(limited, call, next)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		got = result{void: true}
	case errors.Is(context.Cause(limited), errLate):
		got.snapshot = failure(fault.New(fault.ToolTimeout, "%s took longer than the step's timeout of %s", next.Call, next.Timeout).OutcomeUnknown(), false)
	default:
		got.snapshot = failure(err, next.Backoff == "")
	}
	return finished{next, got, time.Since(began)}
}

// working returns the function that passes the progress of a step's tool on to the
// watchers, until ctx ends. It does not depend on the call that began the drive, which
// may have ended.
func (v *drive) working(ctx context.Context, next flow.Instruction) func(done, total float64, message string) {
	return func(done, total float64, message string) {
		if ctx.Err() != nil {
			return
		}
		if total > 0 {
			message += fmt.Sprintf(": %.0f of %.0f", done, total)
		}
		v.emit(Event{Kind: Working, StepID: next.StepID, Call: next.Call, Attempt: next.Attempt, Doing: message})
	}
}

// sleep waits, and reports whether ctx still holds.
func sleep(ctx context.Context, pause time.Duration) bool {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func (v *drive) carryOut(ctx context.Context, call engines.Call, next flow.Instruction) (result, error) {
	if next.Call == flow.CallGenerate {
		return v.generate(ctx, next)
	}
	// A step that starts agents or moves runs would escape its own guards.
	if engine := engines.EngineOf(next.Call); engine == "think" || engine == "agent" {
		return result{}, fault.New(fault.ToolDenied, "Savant does not call %s for a step", next.Call)
	}
	got, err := v.invoke(ctx, call, next)
	switch {
	case errors.Is(err, fault.UnknownTool):
		return result{left: &handOver{ForTool, "Savant does not have this tool, a client may have it: " + fault.From(err).Message()}}, nil
	case err != nil:
		return result{receipt: got.Receipt}, err
	case got.Artifact != "" && got.Receipt == "":
		return result{}, fault.New(fault.LimitExceeded, "the result of %s is too large for a reply without a receipt", next.Call)
	}
	return result{snapshot: got.JSON, receipt: got.Receipt}, nil
}

// busyPause is the pause before a call is repeated that its engine refused as busy.
const busyPause = 500 * time.Millisecond

// invoke calls the step's tool. ENGINE_BUSY is not a failure: the call is repeated
// until ctx ends.
func (v *drive) invoke(ctx context.Context, call engines.Call, next flow.Instruction) (engines.Result, error) {
	call.Warnings = v.warned()
	return backoff.Retry(ctx, func() (engines.Result, error) {
		got, err := v.driver.Toolbox.Invoke(ctx, call, next.Call, jsonvalue.Encoded(next.Input))
		if err != nil && !errors.Is(err, fault.EngineBusy) {
			err = backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(busyPause)), backoff.WithMaxElapsedTime(0))
}

// noModel is why a step is left to a model.
const noModel = "No model is set: name one with LLM_MODEL or --llm=PROVIDER:NAME, or a Reasoning API with REASONING_API_URL."

// ErrNoModel is returned by a Generate that has no model.
var ErrNoModel = errors.New("no model is configured")

func (v *drive) generate(ctx context.Context, next flow.Instruction) (result, error) {
	if v.driver.Generate == nil {
		return result{left: &handOver{ForModel, noModel}}, nil
	}
	var warnings []think.Warning
	question := Question{Workflow: v.at.Workflow, RunID: v.at.RunID, StepID: next.StepID, Input: jsonvalue.Encoded(next.Input),
		Attempt: next.Attempt, Issued: next.Version, Diagnostics: next.Diagnostics, Complex: next.Complex, Used: new(Usage),
		Warn: func(text string, seen map[string]int) {
			warnings = append(warnings, think.Warning{Text: text, Seen: seen})
		}}
	if next.SuccessSchema != nil {
		question.Schema = jsonvalue.Encoded(next.SuccessSchema)
	}
	answer, err := v.driver.Generate(ctx, question)
	took := *question.Used
	v.used(took)
	switch {
	case errors.Is(err, ErrNoModel):
		return result{left: &handOver{ForModel, noModel}}, nil
	case errors.Is(err, fault.ReasoningUnavailable), errors.Is(err, fault.LimitExceeded):
		return result{left: &handOver{ForModel, fault.From(err).Error()}}, nil
	case err != nil:
		return result{used: took}, err
	}
	if _, err := jsonvalue.Decode(answer); err != nil {
		answer = jsonvalue.Encoded(string(answer)) // text: Think reads JSON in a code fence
	}
	return result{snapshot: answer, warnings: warnings, used: took}, nil
}

// failure converts an error to what a client would report. The refusal by a rule is final
// if the next attempt is made at once, before a rule can have seen anything else.
func failure(err error, atOnce bool) json.RawMessage {
	said := fault.From(err).Final()
	if atOnce {
		said = said.Final(fault.RuleRefused)
	}
	return jsonvalue.Encoded(schemas.FailedCall(said))
}
