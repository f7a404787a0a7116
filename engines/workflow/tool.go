package workflow

import (
	"context"
	"fmt"
	"time"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
)

// Name is the engine's only tool.
const Name = "workflow.workflow_run"

// defaultWait is how long a call waits for its run: clients give up after 60 s.
const defaultWait = 20 * time.Second

// The limits of an answer to a client, in bytes and entries. The whole outputs are a
// resource.
const (
	maxOutputs = 4000
	maxSummary = 800
	maxListed  = 10
)

// Input is the tool's input.
type Input struct {
	Workflow string         `json:"workflow,omitempty" doc:"name or name@version; may be left out to go on with a run" example:"hello"`
	Params   map[string]any `json:"params,omitempty" doc:"the workflow's parameters" example:"{\"name\":\"Ada\"}"`
	RunID    string         `json:"run_id,omitempty" doc:"go on with a run, or name a new one"`
	WaitMS   int            `json:"wait_ms,omitempty" doc:"answer status running after this long, default 20000; the run goes on" min:"1" max:"3600000"`
}

// Tools returns the engine's tools.
func (d *Driver) Tools() []engines.Tool {
	tool := engines.BindCall(Name, "Run a whole workflow without being guided: Savant calls its tools itself, and stops where a model, a person or another client has to answer. "+
		"Answers done with outputs, or pending with the instruction; call it again with run_id to go on. Use think.plan to follow a workflow step by step yourself.", d.call)
	tool.Title, tool.Destructive, tool.OpenWorld, tool.Idempotent = "Run a workflow", true, true, false
	tool.Judge = guide.ParamsJudge(d.Think, tool)
	return []engines.Tool{tool}
}

func (d *Driver) call(ctx context.Context, call engines.Call, in Input) (*Outcome, error) {
	wait := time.Duration(in.WaitMS) * time.Millisecond
	nested := len(call.Waiting) > 0
	if wait == 0 && !nested && !call.Patient && call.Task == nil { // a step waits for its whole result, within its timeout
		wait = defaultWait
	}
	outcome, err := d.Run(ctx, call, Request{Workflow: in.Workflow, Params: in.Params, RunID: in.RunID, Wait: wait}, progress(call))
	if err != nil {
		return nil, err
	}
	if nested {
		return outcome, unfinished(outcome)
	}
	if call.Patient {
		return outcome, nil
	}
	short := outcome.short()
	short.Note = call.Spelled(short.Note)
	if short.Pending != nil {
		pending := *short.Pending
		pending.Why = call.Spelled(pending.Why)
		short.Pending = &pending
	}
	return short, nil
}

// unfinished returns the failure of a step whose run is not done.
func unfinished(outcome *Outcome) error {
	if outcome.Status == Done {
		return nil
	}
	details := outcome.Summary
	switch {
	case outcome.Error != nil:
		details = outcome.Error.Error()
	case outcome.Pending != nil:
		details = "step " + outcome.Pending.StepID + " waits for a " + outcome.Pending.For
	}
	return fault.New(fault.ToolFailed, "run %s of workflow %s is %s: %s", outcome.RunID, outcome.Workflow, outcome.Status, details)
}

// progress reports each step to the client; nil if the client did not ask for progress.
func progress(call engines.Call) func(Event) {
	report := call.Progress
	if report == nil {
		return nil
	}
	steps := 0.0
	return func(event Event) {
		steps++
		report(steps, 0, event.String())
	}
}

// String formats an event in one line.
func (e Event) String() string {
	switch e.Kind {
	case Begins:
		if e.Attempt > 1 {
			return fmt.Sprintf("%s: %s, attempt %d", e.StepID, e.Call, e.Attempt)
		}
		return e.StepID + ": " + e.Call
	case Working:
		return e.StepID + ": " + e.Doing
	case Settled:
		if e.Why == "" {
			return e.StepID + ": " + string(e.Status)
		}
		return e.StepID + ": " + string(e.Status) + ": " + e.Why
	case Refused:
		return e.StepID + ": refused: " + e.Why
	}
	return e.StepID + ": left: " + e.Why
}

// short returns the outcome with texts and lists truncated for an answer.
func (o *Outcome) short() *Outcome {
	cut := *o
	cut.Summary = fault.Cut(o.Summary, maxSummary)
	cut.Failures = o.Failures[:min(len(o.Failures), maxListed)]
	if o.Pending != nil {
		pending := *o.Pending
		pending.Others = pending.Others[:min(len(pending.Others), maxListed)]
		cut.Pending = &pending
	}
	if len(o.Outputs) > maxOutputs {
		cut.Outputs = jsonvalue.Encoded(engines.Excerpt{Artifact: think.RunPrefix + o.Workflow + "/" + o.RunID + "/outputs", Size: len(o.Outputs), Preview: fault.Cut(string(o.Outputs), maxOutputs/2)})
	}
	return &cut
}

var _ Toolbox = (*engines.Registry)(nil)
