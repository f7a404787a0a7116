// Package agent works on a goal step by step. At each step it asks the Reasoning API
// what to do, calls the chosen tools and remembers the results, until a finish, an
// error, a cancellation or the limit of steps. It decides nothing itself.
//
// A run is a state machine (state.go). Each state takes a turn, the data of one
// step, and returns the next turn and a signal. Run holds what outlives a step.
package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// RunOptions configure a run.
type RunOptions struct {
	Goal string `json:"goal"`
	// RunID is the id of the run; "" makes a new one.
	RunID string `json:"run_id,omitempty"`
	// MaxSteps bounds the decisions; 0 is the runtime's default.
	MaxSteps int `json:"max_steps,omitempty"`
	// DryRun asks no model and makes no call that changes anything or reaches outside. A
	// forced tool is called only if it is read-only.
	DryRun bool `json:"dry_run,omitempty"`
	// ForceTool is called first, with ForceArgs, whatever the goal is. With
	// ForceFinish the run ends after it, or at once if no tool is forced.
	ForceTool   string          `json:"force_tool,omitempty"`
	ForceArgs   json.RawMessage `json:"force_args,omitempty"`
	ForceFinish bool            `json:"force_finish,omitempty"`
	// Workflow is run first; "" lets the goal decide.
	Workflow string `json:"workflow,omitempty"`
	// Persona is a name of prompts.yml; "" lets the goal decide.
	Persona string `json:"persona,omitempty"`
	// Allow and Deny are patterns of tool names: git.*, context.fts_search.
	Allow    []string `json:"allow,omitempty"`
	Deny     []string `json:"deny,omitempty"`
	Approval `json:"-"`
	// ReadOnly offers only read-only tools.
	ReadOnly bool `json:"read_only,omitempty"`
	// Model is "slm" or "llm" to force one, else "".
	Model string `json:"model,omitempty"`
	// SkipGit leaves the repository out of the questions.
	SkipGit bool `json:"skip_git,omitempty"`
	// Needs are the labels required of the machine that drives the run: folder=NAME.
	Needs []string `json:"needs,omitempty"`
	// TraceParent and TraceState are the W3C Trace Context of the run. A resumed run keeps
	// it.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`

	// Within are the runs whose rules held for who ordered the run. A resumed run keeps them.
	Within []engines.Run `json:"within,omitempty"`

	// Who ordered the run, or its goal.
	telemetry.Who

	// asking asks the person at the client that ordered the run; nil if the client does
	// not support questions.
	asking *asking
	// orderers are the callers whose rules hold for the run.
	orderers []string
}

// Approval is what a person typed on a command line. It holds for the process and the
// goal for which they typed it, so it is never stored: no journal, no order in a database
// and no other caller allows anything.
type Approval struct {
	// Approve are patterns of tools whose destructive calls need no further approval.
	// Unlike RunOptions.Allow, it denies nothing.
	Approve []string
	// Typed says that the person also gave ForceTool, Workflow and Allow, which approves
	// the forced call and the tools of Allow. Given by a client, they still need approval.
	Typed bool
}

// Bounds of the options.
const (
	DefaultMaxSteps = 25
	maxMaxSteps     = 1000
	maxGoal         = 20_000
)

// check fills in defaults and validates the options. The error is INVALID_PARAMS.
func (o *RunOptions) check() error {
	switch {
	case strings.TrimSpace(o.Goal) == "" && o.ForceTool == "" && o.Workflow == "" && !o.ForceFinish:
		return invalid("goal", "say what is wanted")
	case len(o.Goal) > maxGoal:
		return invalid("goal", "it is longer than 20,000 bytes; put the details into a file and name the file")
	case o.MaxSteps < 0 || o.MaxSteps > maxMaxSteps:
		return invalid("max_steps", "expected 1 to 1000")
	case o.ForceTool != "" && o.Workflow != "":
		return invalid("force_tool", "a workflow is already forced")
	case o.Model != "" && o.Model != reasoning.ModelSLM && o.Model != reasoning.ModelLLM:
		return invalid("model", "expected slm or llm")
	case len(o.ForceArgs) > 0 && !isObject(o.ForceArgs):
		return invalid("force_args", "expected a JSON object")
	}
	for _, pattern := range slices.Concat(o.Allow, o.Deny, o.Approve) {
		if !validPattern(pattern) {
			return invalid("allow, approve and deny", "expected the name of a tool, in which * stands for any part, as in git.*; got "+fault.Cut(pattern, 60))
		}
	}
	for _, label := range o.Needs {
		if err := CheckLabel(label); err != nil {
			return err
		}
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	return nil
}

func invalid(argument, message string) error {
	return fault.New(fault.InvalidParams, "%s: %s", argument, message).With(fault.Diagnostic{Path: argument, Message: message})
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members != nil
}

// Status is the status of a run.
type Status string

// The statuses of a run. Queued: it waits for a worker. Waiting: the workflow that it began
// with waits for a person or client. Interrupted: the program that drove it ended; it can
// be resumed.
const (
	StatusQueued      Status = "queued"
	StatusRunning     Status = "running"
	StatusOK          Status = "ok"
	StatusError       Status = "error"
	StatusCanceled    Status = "canceled"
	StatusMaxSteps    Status = "max_steps"
	StatusStuck       Status = "stuck"
	StatusWaiting     Status = "waiting"
	StatusInterrupted Status = "interrupted"
)

// statusFailed is the former name of StatusError in old sessions.
const statusFailed Status = "failed"

// current returns the present name of a status.
func (s Status) current() Status {
	if s == statusFailed {
		return StatusError
	}
	return s
}

// Report describes a run: its progress or its end.
type Report struct {
	RunID  string `json:"run_id"`
	Status Status `json:"status"`
	// State is the state the machine is in.
	State State  `json:"state,omitempty"`
	Goal  string `json:"goal,omitempty"`
	// Updated is the time of the last change in RFC 3339, set in lists.
	Updated string `json:"updated,omitempty"`
	// Started is the time of the beginning, likewise.
	Started string `json:"-"`
	// Steps counts the decisions so far, including a forced tool.
	Steps int `json:"steps"`
	// Final is the answer.
	Final string `json:"final,omitempty"`
	// Warning says why the answer may be incomplete.
	Warning string       `json:"warning,omitempty"`
	Error   *fault.Error `json:"error,omitempty"`
	// Model made the last decision.
	Model        string `json:"model,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	engines.Spent
	Transcript []memory.Step `json:"transcript,omitempty"`
}

// add adds the tokens and cost of a decision.
func (r *Report) add(intent reasoning.Intent, spent engines.Spent) {
	r.Spent.Add(spent)
	r.Model = intent.Model
	r.PromptTokens += intent.PromptTokens
	r.OutputTokens += intent.OutputTokens
}

// The texts of a cancellation.
const (
	canceledByUser = "Canceled by user"
	actionCancel   = "cancel"
)

// transcript returns the steps of a run with the one that ended it: a cancel, or a
// finish that nobody decided (a forced one, one at the limit of steps).
func (r *Report) transcript(steps []memory.Step) []memory.Step {
	index := 1
	if len(steps) > 0 {
		last := steps[len(steps)-1]
		if last.Action == string(reasoning.ActionFinish) {
			return steps
		}
		index = last.Index + 1
	}
	end := memory.Step{Index: index, Final: r.Final}
	switch r.Status {
	case StatusCanceled:
		end.Action = actionCancel
	case StatusOK, StatusMaxSteps, StatusStuck, StatusWaiting:
		end.Action = string(reasoning.ActionFinish)
	default:
		return steps
	}
	return append(slices.Clone(steps), end)
}

func (r *Report) end(o outcome) {
	r.Status, r.Final, r.Warning, r.Error = o.Status, o.Final, o.Warning, o.Error
	r.PromptTokens += o.PromptTokens
	r.OutputTokens += o.OutputTokens
	r.Spent.Add(o.Spent)
}
