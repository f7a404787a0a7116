package workflow

import (
	"encoding/json"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/flow"
)

// Status is how a drive left its run.
type Status string

// The statuses of an Outcome.
const (
	Done        Status = "done"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"   // by a person; Summary has the reason
	Blocked     Status = "blocked"     // Error has the reason
	Waiting     Status = "pending"     // Pending says for whom
	Running     Status = "running"     // the drive continues in the background
	Interrupted Status = "interrupted" // the run can be continued
)

// Whom a pending step waits for.
const (
	ForPerson = "person"
	ForModel  = "model" // no Reasoning API could answer
	ForTool   = "tool"  // a client must call it
)

// Outcome is the state in which a drive left its run.
type Outcome struct {
	Status   Status `json:"status"`
	RunID    string `json:"run_id"`
	Workflow string `json:"workflow"`
	// Steps counts the steps that are done or failed.
	Steps     int             `json:"steps"`
	Summary   string          `json:"summary,omitempty"`
	Outputs   json.RawMessage `json:"outputs,omitempty"`
	Artifacts []Artifact      `json:"artifacts,omitempty"`
	Failures  []flow.Failure  `json:"failed,omitempty"`
	Pending   *Pending        `json:"pending,omitempty"`
	Error     *fault.Error    `json:"error,omitempty"`
	// Warnings are about models' answers: for example, an input was truncated.
	Warnings []string `json:"warnings,omitempty"`
	// Usage is what the models took that were asked for the run.
	Usage
	// Note says how to continue.
	Note string `json:"note,omitempty"`

	version int
}

// Links gives the artifacts, as resources.
func (o *Outcome) Links(each func(uri, name string, size int)) {
	for _, a := range o.Artifacts {
		each(a.Ref, a.Name, a.Size)
	}
}

// Artifact is a value of the finished run, kept by its content.
type Artifact struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Ref    string `json:"ref"`
}

// Pending is the first instruction that waits for somebody else.
type Pending struct {
	StepID        string          `json:"step_id"`
	Call          string          `json:"call"`
	Input         json.RawMessage `json:"input"`
	SuccessSchema json.RawMessage `json:"success_schema,omitempty"`
	Rationale     string          `json:"rationale,omitempty"`
	Attempt       int             `json:"attempt"`
	// For is ForPerson, ForModel or ForTool; Why is a sentence.
	For string `json:"for"`
	Why string `json:"why"`
	// Others are further waiting steps.
	Others []string `json:"others,omitempty"`
}

// newOutcome returns an outcome for the position of a run.
func newOutcome(at *think.Position, status Status, note string) *Outcome {
	return &Outcome{Status: status, RunID: at.RunID, Workflow: at.Workflow, Steps: at.Ran, Error: at.Blocked, Note: note, version: at.Version}
}

// outcomeOf returns the outcome of a finished or blocked run.
func outcomeOf(at *think.Position) *Outcome {
	out := newOutcome(at, Blocked, "")
	if at.Final == nil {
		return out
	}
	out.Status, out.Summary, out.Outputs, out.Failures = Status(at.Final.Outcome), at.Final.End(), jsonvalue.Encoded(at.Final.Outputs), at.Final.Failed
	for _, each := range at.Last.Artifacts {
		out.Artifacts = append(out.Artifacts, Artifact{each.Name, each.Type, each.Size, each.SHA256, each.Ref})
	}
	return out
}

// waiting returns the outcome of a run whose outstanding steps all wait for somebody
// else. A step for a person comes first: they may be present.
func waiting(at *think.Position, left map[string]handOver) *Outcome {
	out := newOutcome(at, Waiting, "Once the step is answered (a model answers with think.next), call workflow.workflow_run again with this run_id to go on.")
	first := max(0, slices.IndexFunc(at.Outstanding, person))
	out.Pending = pendingOf(at.RunID, at.Outstanding[first], left)
	for i, next := range at.Outstanding {
		if i != first {
			out.Pending.Others = append(out.Pending.Others, next.StepID)
		}
	}
	if out.Pending.For == ForPerson {
		out.Note = "Once the person has answered, call workflow.workflow_run again with this run_id to go on."
	}
	return out
}

// person reports whether a person has to answer an instruction: no other may, or nobody
// here can find out what happened.
func person(next flow.Instruction) bool {
	return next.Outcome != "" || flow.AnsweringOf(next.Call) != flow.NoPerson
}

func pendingOf(run string, next flow.Instruction, left map[string]handOver) *Pending {
	pending := &Pending{StepID: next.StepID, Call: next.Call, Input: jsonvalue.Encoded(next.Input), Rationale: next.Rationale, Attempt: next.Attempt,
		For: left[next.StepID].whom, Why: left[next.StepID].why}
	if person(next) {
		pending.For, pending.Why = ForPerson, "A person must answer this step: savant approve "+run+" "+next.StepID
		if others := next.Approval.Others(think.ByLocal, next.Agreed); others != "" {
			pending.Why = "A person must answer this step, " + others + ", in the hub (savant hub) with their own token"
		}
	}
	if next.SuccessSchema != nil {
		pending.SuccessSchema = jsonvalue.Encoded(next.SuccessSchema)
	}
	return pending
}
