package think

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// ExplainInput names a step of a run or of a workflow; without a step, think.explain
// explains the run.
type ExplainInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty" example:"r1"`
	StepID   string `json:"step_id,omitempty" doc:"default: the whole run"`
	// Caller makes the call, see NextInput.
	Caller Caller `json:"-"`
}

// StepExplanation explains a step, and names the run if the call did not.
type StepExplanation struct {
	RunID string `json:"run_id,omitempty"`
	// Approval is what is left of an answered approval that covers calls.
	Approval *ScopedApproval `json:"approval,omitempty"`
	*flow.Explanation
}

// Explain explains the status of a step: UNKNOWN_STEP, UNKNOWN_RUN, UNKNOWN_WORKFLOW.
func (e *Engine) Explain(ctx context.Context, in ExplainInput) (*flow.Explanation, error) {
	if in.RunID == "" {
		graph, err := e.Library.Graph(in.Workflow)
		if err != nil {
			return nil, err
		}
		return graph.Explain(in.StepID)
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	step, err := l.run.View().Step(in.StepID)
	if err != nil {
		return nil, err
	}
	return e.explain(ctx, l.history(), l.run, step)
}

// ExplainAny implements think.explain: it returns a StepExplanation or a
// RunExplanation. A call without a run id means the open run; if no run is open, the
// workflow.
func (e *Engine) ExplainAny(ctx context.Context, in ExplainInput) (any, error) {
	if in.RunID == "" && in.Workflow != "" && in.StepID != "" {
		if _, open, err := e.openRuns(ctx, in.Workflow); err != nil || len(open) == 0 {
			return e.Explain(ctx, in) // of the workflow
		}
	}
	meant, err := e.targetOf(ctx, in.Caller, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	if meant.ended && in.Workflow != "" && in.StepID != "" {
		return e.Explain(ctx, in) // of the workflow
	}
	in.Workflow, in.RunID = meant.key.Workflow, meant.key.Run
	if in.StepID == "" {
		return e.ExplainRun(ctx, in.Workflow, in.RunID)
	}
	explained, err := e.Explain(ctx, in)
	if err != nil {
		return nil, withRunID(meant.id(), err)
	}
	out := StepExplanation{RunID: meant.id(), Explanation: explained}
	all, err := e.ScopedApprovals(ctx, in.Workflow, in.RunID)
	if at := slices.IndexFunc(all, func(each ScopedApproval) bool { return each.Step == in.StepID }); at >= 0 {
		out.Approval = &all[at]
	}
	return out, err
}

// RunExplanation describes the state of a run: Text for a person, the other fields for
// the client that continues it.
type RunExplanation struct {
	RunID    string      `json:"run_id"`
	Workflow string      `json:"workflow"`
	Status   flow.Status `json:"status"`
	Version  int         `json:"version"`
	// Refused counts the calls that the gate refused.
	Refused int `json:"refused,omitempty"`
	// ByRules are the calls that rules refused, the last first, at most maxExplained.
	ByRules []RuleRefusal `json:"refused_by_rules,omitempty"`
	Text    string        `json:"text"`
	// Done are ids; each list has at most maxExplained entries, More counts the
	// steps that were left out.
	Done    []string      `json:"done"`
	Skipped []skippedStep `json:"skipped"`
	Failed  []failedStep  `json:"failed"`
	Waiting []waitingStep `json:"waiting"`
	Next    []comingStep  `json:"next"`
	More    int           `json:"more,omitempty"`
	Note    string        `json:"note,omitempty"`
	// Instruction, Instructions and Schemas repeat the outstanding instructions, like
	// think.plan.
	Instruction  *Instruction               `json:"instruction,omitempty"`
	Instructions []Instruction              `json:"instructions,omitempty"`
	Schemas      map[string]json.RawMessage `json:"schemas,omitempty"`
}

// RuleRefusal is a call that rules refused: Rules names them with their places, Why has the
// parts that are not met.
type RuleRefusal struct {
	Tool  string   `json:"tool"`
	Time  string   `json:"time"`
	Rules []string `json:"rules"`
	Why   []string `json:"why,omitempty"`
}

// Ruled adds the calls that rules refused in the run, the last first.
func (x *RunExplanation) Ruled(all []RuleRefusal) {
	if len(all) == 0 {
		return
	}
	x.ByRules = all[:min(len(all), maxExplained)]
	x.Text += "Refused by rules:\n"
	for _, each := range x.ByRules {
		x.Text += "- " + each.Tool + ": " + strings.Join(append(slices.Clone(each.Rules), each.Why...), "; ") + "\n"
	}
}

type skippedStep struct {
	StepID string `json:"step_id"`
	Cause  string `json:"cause"`
	Why    string `json:"why"`
}

type failedStep struct {
	StepID   string     `json:"step_id"`
	Code     fault.Code `json:"code"`
	Details  string     `json:"details"`
	Attempts int        `json:"attempts,omitempty"`

	inner bool // nobody answered it, so there is no version before its answer
}

type waitingStep struct {
	StepID  string `json:"step_id"`
	Call    string `json:"call"`
	For     string `json:"for"` // model, person or tool
	Attempt int    `json:"attempt"`
	Since   string `json:"since,omitempty"`
	// Agreed names those who agreed already, and Due is remind or escalate, see Pending.
	Agreed []string `json:"agreed,omitempty"`
	Due    string   `json:"due,omitempty"`

	unknown bool // whether its last call had an effect
}

type comingStep struct {
	StepID  string   `json:"step_id"`
	Call    string   `json:"call"`
	After   []string `json:"after,omitempty"`
	When    string   `json:"when,omitempty"`
	Foreach string   `json:"foreach,omitempty"`
}

// maxExplained bounds each list of a RunExplanation.
const maxExplained = 12

// ExplainRun describes the state of a run: the steps done, skipped and failed, those
// that wait and for whom, and the next ones with their conditions.
func (e *Engine) ExplainRun(ctx context.Context, workflow, run string) (*RunExplanation, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	out := &RunExplanation{RunID: l.key.Run, Workflow: l.key.Workflow, Status: l.now.Status, Version: l.now.Version, Refused: l.refused, Done: []string{},
		Skipped: []skippedStep{}, Failed: []failedStep{}, Waiting: []waitingStep{}, Next: []comingStep{}}
	for _, line := range l.run.View().Outline() {
		out.add(line)
	}
	for _, next := range l.now.Instructions {
		out.wait(e, l, next)
	}
	if l.now.Final == nil && l.now.Blocked == nil {
		standing := composeReply(l.now, everything, e.drifted(l.pins), nil).Reply
		out.Instruction, out.Instructions, out.Schemas, out.Note = standing.Instruction, standing.Instructions, standing.Schemas, standing.Note
	}
	out.Text = out.read(l.now)
	return out, nil
}

// answered returns the first step that failed by an answer, which a reset gives up.
func (x *RunExplanation) answered() string {
	for _, each := range x.Failed {
		if each.Attempts > 0 && each.Code != "" && !each.inner {
			return each.StepID
		}
	}
	return ""
}

// keep reports whether a list has room, and counts the omitted entries.
func (x *RunExplanation) keep(length int) bool {
	if length < maxExplained {
		return true
	}
	x.More++
	return false
}

func (x *RunExplanation) add(line flow.Line) {
	switch line.Status {
	case flow.Done:
		if x.keep(len(x.Done)) {
			x.Done = append(x.Done, line.ID)
		}
	case flow.Skipped:
		if x.keep(len(x.Skipped)) {
			why := Cause(line.Cause)
			if line.Cause == "when" {
				why += ": " + line.When
			}
			x.Skipped = append(x.Skipped, skippedStep{line.ID, line.Cause, why})
		}
	case flow.Failed:
		step := failedStep{StepID: line.ID, Attempts: line.Attempt, inner: strings.HasPrefix(line.Call, "flow.")}
		if line.Failure != nil {
			step.Code, step.Details = line.Failure.Code, fault.Cut(line.Failure.Message(), 300)
		}
		if line.Failure == nil && line.Items > 0 { // its items have the reasons
			step.Details = "an item of the loop failed"
		}
		if x.keep(len(x.Failed)) {
			x.Failed = append(x.Failed, step)
		}
	case flow.Issued: // see wait
	default:
		if x.keep(len(x.Next)) {
			x.Next = append(x.Next, comingStep{line.ID, line.Call, line.After, line.When, line.Foreach})
		}
	}
}

func (x *RunExplanation) wait(e *Engine, l *live, next flow.Instruction) {
	if !x.keep(len(x.Waiting)) {
		return
	}
	step := waitingStep{StepID: next.StepID, Call: next.Call, For: "tool", Attempt: next.Attempt, unknown: next.Outcome != ""}
	switch {
	case next.NeedsPerson():
		step.For = "person"
	case next.Call == flow.CallGenerate:
		step.For = "model"
	}
	step.Agreed = next.Agreed
	if at, known := l.times[next.Version]; known {
		step.Since, step.Due = age(e.Now().Sub(at)), next.Approval.Due(e.Now().Sub(at).Milliseconds())
	}
	x.Waiting = append(x.Waiting, step)
}

// causes are the causes of skips in words; %s is what the cause names.
var causes = map[string]string{
	"when":                "its condition is false",
	"missing_data":        "it needs %s, and no step gave it",
	"upstream_failed":     "an earlier step, %s, failed",
	"dependency_not_done": "%s, which it depends on, is not done",
	"no_dependency_done":  "none of the steps it depends on is done",
	"run_failed":          "the run had failed",
	"cancelled":           "the run was cancelled",
	"skip_rest":           "a failed step skips the rest of the run",
}

// Cause says in words why a step was skipped.
func Cause(cause string) string {
	word, of, _ := strings.Cut(cause, ":")
	return strings.ReplaceAll(cmp.Or(causes[word], cause), "%s", of)
}

// read writes the explanation as text for a person.
func (x *RunExplanation) read(now flow.Outcome) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Run %s of workflow %s is %s (version %d).\n", x.RunID, x.Workflow, x.Status, x.Version)
	if len(x.Done) > 0 {
		fmt.Fprintf(&text, "Done: %s.\n", strings.Join(x.Done, ", "))
	}
	list(&text, "Skipped", x.Skipped, func(each skippedStep) string { return each.StepID + ": " + each.Why })
	list(&text, "Failed", x.Failed, func(each failedStep) string {
		return strings.TrimSuffix(each.StepID+": "+string(each.Code)+": "+each.Details, ": ")
	})
	list(&text, "Waiting", x.Waiting, waitingStep.line)
	list(&text, "Next", x.Next, comingStep.line)
	if x.Refused > 0 {
		fmt.Fprintf(&text, "Refused by the gate: %d calls that were not issued.\n", x.Refused)
	}
	if x.More > 0 {
		fmt.Fprintf(&text, "%d more steps; think.state.get shows them all.\n", x.More)
	}
	switch {
	case now.Blocked != nil:
		fmt.Fprintf(&text, "It cannot go on: %s. Correct the workflow's file, then fork the run: think.debug {run_id, action: fork, adopt: true}.\n", now.Blocked.Message())
	case now.Final != nil:
		fmt.Fprintf(&text, "It is over: %s\n", now.Final.End())
		if x.Status == flow.Cancelled {
			text.WriteString("A new run with its answers: savant state fork " + x.RunID + "\n")
		}
		if x.Status == flow.Failed && len(x.answered()) > 0 {
			text.WriteString("To open it again: " + flow.Reopen(x.RunID, x.answered(), true) + "\n")
		}
	case len(x.Waiting) > 0 && !slices.ContainsFunc(x.Waiting, func(each waitingStep) bool { return each.For != "person" }):
		text.WriteString("Only a person can continue it.\n")
	default:
		text.WriteString("To go on, do what the instruction says and answer with think.next.\n")
	}
	return text.String()
}

// list writes a line for each step under a title, and nothing for none.
func list[T any](text *strings.Builder, title string, steps []T, line func(T) string) {
	for i, each := range steps {
		if i == 0 {
			text.WriteString(title + ":\n")
		}
		text.WriteString("- " + line(each) + "\n")
	}
}

func (w waitingStep) line() string {
	line := w.StepID + " waits for a " + w.For + ": " + w.Call
	if w.Attempt > 1 {
		line += fmt.Sprintf(", attempt %d", w.Attempt)
	}
	if w.Since != "" {
		line += ", issued " + w.Since + " ago"
	}
	if w.unknown {
		line += "; it is not known whether its last call had an effect"
	}
	return line
}

func (c comingStep) line() string {
	line := c.StepID + ": " + c.Call
	for _, each := range [][2]string{{", after ", strings.Join(c.After, ", ")}, {", if ", c.When}, {", for each of ", c.Foreach}} {
		if each[1] != "" {
			line += each[0] + each[1]
		}
	}
	return line
}
