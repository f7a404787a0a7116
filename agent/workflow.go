package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
)

// workflowEnd is the part of a workflow's outcome that decides how the agent's run
// ends.
type workflowEnd struct {
	Done     bool   `json:"done"`
	Outcome  string `json:"outcome"`
	Status   string `json:"status"`
	RunID    string `json:"run_id"`
	Workflow string `json:"workflow"`
	Summary  string `json:"summary"`
	// Warnings list what a model did not see.
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
	// What its models took.
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
	engines.Spent
}

// outcomeOfWorkflow returns the end of a run that began with a workflow. It is empty
// while the workflow is running, or waits for something that the agent may answer.
func (r *Run) outcomeOfWorkflow(call memory.Call) outcome {
	output, err := r.session.Whole(call) // the call may hold a truncated report
	var end workflowEnd
	if err := errors.Join(err, json.Unmarshal(output, &end)); err != nil {
		r.warn("the result of a workflow cannot be read", err)
		return outcome{}
	}
	made := r.endOfWorkflow(end, output)
	made.PromptTokens, made.OutputTokens, made.Spent = end.PromptTokens, end.OutputTokens, end.Spent
	return made
}

func (r *Run) endOfWorkflow(end workflowEnd, output json.RawMessage) outcome {
	switch {
	case end.Status == "cancelled" || end.Outcome == "cancelled":
		return outcome{Status: StatusError, Final: end.Summary, Error: fault.New(fault.RunCancelled, "run %s: %s", end.RunID, end.Summary)}
	case end.Done || end.Outcome == "done" || end.Status == "done" || end.Status == "ok":
		return outcome{Status: StatusOK, Final: end.answer(readable(output))}
	case end.Status == "failed" || end.Outcome == "failed":
		return outcome{Status: StatusError, Final: end.failure(), Error: fault.New(fault.ToolFailed, "workflow %s failed: %s", end.Workflow, end.Summary)}
	case end.Status == "blocked":
		return outcome{Status: StatusError, Final: end.failure(), Error: fault.From(end.cause())}
	case end.Status == "pending" && !(r.guard.policy.AllowThink && end.Pending.For == "model"):
		return outcome{Status: StatusWaiting, Final: end.waiting()}
	}
	return outcome{}
}

// cause is the error that stops the workflow.
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

// answer returns the answer of a completed workflow: its report, else otherwise, plus its
// warnings and failed steps.
func (e workflowEnd) answer(otherwise string) string {
	var outputs struct {
		Markdown string `json:"markdown"`
	}
	if json.Unmarshal(e.Outputs, &outputs) == nil && outputs.Markdown != "" {
		otherwise = strings.TrimRight(outputs.Markdown, "\n") + "\n"
	}
	return e.withFailed(otherwise)
}

// withFailed adds a line for each warning that the text does not have, and for each step that failed.
func (e workflowEnd) withFailed(text string) string {
	lines := []string{text}
	for _, each := range e.Warnings {
		if !strings.Contains(text, each) {
			lines = append(lines, "Warning: "+each)
		}
	}
	for _, each := range e.Failed {
		lines = append(lines, fmt.Sprintf("Step %s failed: %s: %s", each.Step, each.Code, each.Details))
	}
	return strings.Join(lines, "\n")
}

// waiting says whom the workflow waits for, and how to continue it.
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

// beginning is the call that a run starts with before any decision, and why.
type beginning struct {
	call reasoning.Call
	// workflow is the name of the called workflow, "" for another tool.
	workflow, because string
}

// text describes the beginning, "" for a tool.
func (b beginning) text() string {
	if b.workflow == "" {
		return ""
	}
	return "begins with workflow " + b.workflow + ", because " + b.because
}

// Why a run begins with a workflow.
const (
	becauseOrdered = "it was requested"
	becauseNamed   = "the goal names it"
)

// becauseOfRule names the rule of prompts.yml that selected the workflow.
func becauseOfRule(name string) string { return "the rule " + name + " matches the goal" }
