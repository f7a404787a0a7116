package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
)

// workflowEnd is the part of a workflow's outcome that decides how a run of the agent
// ends which began with it.
type workflowEnd struct {
	Done     bool   `json:"done"`
	Outcome  string `json:"outcome"`
	Status   string `json:"status"`
	RunID    string `json:"run_id"`
	Workflow string `json:"workflow"`
	Summary  string `json:"summary"`
	// Warnings say what a model did not see.
	Warnings []string `json:"warnings"`
	// Outputs may have "markdown", a report for people.
	Outputs json.RawMessage `json:"outputs"`
	Failed  []struct {
		Step    string `json:"step"`
		Code    string `json:"code"`
		Details string `json:"details"`
	} `json:"failed"`
	Pending struct {
		StepID string `json:"step_id"`
		For    string `json:"for"`
		Why    string `json:"why"`
	} `json:"pending"`
	Error *fault.Error `json:"error"`
}

// outcomeOfWorkflow is the end of a run that began with a workflow: what became of
// that, in words. While the workflow goes on, or where the agent may answer what it
// waits for, the outcome is empty.
func (r *Run) outcomeOfWorkflow(call memory.Call) outcome {
	output, err := r.session.Whole(call) // a long report is cut in the call
	var end workflowEnd
	if err := errors.Join(err, json.Unmarshal(output, &end)); err != nil {
		r.warn("what became of a workflow cannot be read", err)
		return outcome{}
	}
	switch {
	case end.Status == "cancelled" || end.Outcome == "cancelled":
		return outcome{Status: StatusError, Final: end.Summary, Error: fault.New(fault.RunCancelled, "run %s: %s", end.RunID, end.Summary)}
	case end.Done || end.Outcome == "done" || end.Status == "done" || end.Status == "ok":
		return outcome{Status: StatusOK, Final: end.told(readable(output))}
	case end.Status == "failed" || end.Outcome == "failed":
		return outcome{Status: StatusError, Final: end.failure(), Error: fault.New(fault.ToolFailed, "workflow %s failed: %s", end.Workflow, end.Summary)}
	case end.Status == "blocked":
		return outcome{Status: StatusError, Final: end.failure(), Error: fault.From(end.cause())}
	case end.Status == "pending" && !(r.guard.policy.AllowThink && end.Pending.For == "model"):
		return outcome{Status: StatusWaiting, Final: end.waiting()}
	}
	return outcome{}
}

// cause is why the workflow cannot go on.
func (e workflowEnd) cause() error {
	if e.Error != nil {
		return e.Error
	}
	return fault.New(fault.ToolFailed, "workflow %s is blocked", e.Workflow)
}

// failure says what failed.
func (e workflowEnd) failure() string {
	if e.Summary == "" {
		return e.withFailed(e.cause().Error())
	}
	return e.withFailed(e.Summary)
}

// told is what a workflow that is done came to: its report, else the text given, and
// what failed on the way.
func (e workflowEnd) told(otherwise string) string {
	var outputs struct {
		Markdown string `json:"markdown"`
	}
	if json.Unmarshal(e.Outputs, &outputs) == nil && outputs.Markdown != "" {
		otherwise = strings.TrimRight(outputs.Markdown, "\n") + "\n"
	}
	return e.withFailed(otherwise)
}

// withFailed adds a line for each warning, and for each step that failed.
func (e workflowEnd) withFailed(text string) string {
	lines := []string{text}
	for _, each := range e.Warnings {
		lines = append(lines, "Warning: "+each)
	}
	for _, each := range e.Failed {
		lines = append(lines, fmt.Sprintf("Step %s failed: %s: %s", each.Step, each.Code, each.Details))
	}
	return strings.Join(lines, "\n")
}

// waiting says for whom the workflow waits, and how it goes on.
func (e workflowEnd) waiting() string {
	text := "The workflow waits for an answer"
	if e.Pending.StepID != "" {
		text = fmt.Sprintf("Workflow %s waits for a %s at step %s. %s", e.Workflow, e.Pending.For, e.Pending.StepID, e.Pending.Why)
	}
	if e.RunID != "" {
		text = strings.TrimRight(text, ".") + fmt.Sprintf(". Its run is %s.", e.RunID)
	}
	return text
}

// beginning is the call that a run begins with before anybody is asked, and why.
type beginning struct {
	call reasoning.Call
	// workflow is the one that the call runs, "" for another tool.
	workflow, because string
}

// text says what a run begins with and why, "" for a tool.
func (b beginning) text() string {
	if b.workflow == "" {
		return ""
	}
	return "begins with workflow " + b.workflow + ", because " + b.because
}

// Why a run begins with a workflow.
const (
	becauseOrdered = "it was ordered"
	becauseNamed   = "the goal names it"
)

// becauseOfRule says which rule of prompts.yml led from the goal to a workflow.
func becauseOfRule(name string) string { return "the rule " + name + " leads to it" }
