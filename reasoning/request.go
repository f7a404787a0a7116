package reasoning

import (
	"encoding/json"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// EarlierMark separates a goal from those before it and their answers.
const EarlierMark = "\n\nEarlier in this conversation:"

// Request asks for the decision of one step: POST /agent_intent. A Reasoning API is
// stateless, so the request contains all that the answer depends on.
type Request struct {
	// SessionID and RunID identify the run; Step counts from 1.
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
	Step      int    `json:"step"`
	// Goal is what the person wants, in their words. In a conversation the earlier goals
	// and answers follow EarlierMark.
	Goal string `json:"goal"`
	// Question is set if the request is for the answer of a workflow's step.
	Question *Question `json:"question,omitempty"`
	// Persona is the agent's role, Driver its working method.
	Persona Persona `json:"persona"`
	Driver  Driver  `json:"driver"`
	// Rules are the AMR rules that the goal triggers.
	Rules []Rule `json:"rules"`
	// Repo is the repository the agent works in, or nil.
	Repo *Repo `json:"repo,omitempty"`
	// Tools are the permitted tools, by canonical name.
	Tools  []Tool `json:"tools"`
	Policy Policy `json:"policy"`
	Memory Memory `json:"memory"`
	// LastOutput has the outcomes of the calls of the step before, in the order of
	// the calls; it is empty at the first step.
	LastOutput []Outcome `json:"last_output"`
	Limits     Limits    `json:"limits"`
}

// Persona is a voice of prompts.yml.
type Persona struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// Driver is a version of the driver prompt. Hash is hex SHA-256 of the text.
type Driver struct {
	Version string `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
	Text    string `json:"text,omitempty"`
	// Complex asks for the large model.
	Complex bool `json:"complex,omitempty"`
}

// Rule is an AMR rule of prompts.yml that the goal triggers, with its workflow.
type Rule struct {
	Name     string `json:"name"`
	Workflow string `json:"workflow,omitempty"`
	// Complex asks for the large model.
	Complex bool `json:"complex,omitempty"`
}

// Repo describes a repository. Paths are relative to its root and use slashes.
type Repo struct {
	Name   string `json:"name,omitempty"`
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
	// Branches are the names of other branches, for the words of a goal. They are not sent.
	Branches []string `json:"-"`
	// Languages is the number of files by language, Files that of all files.
	Languages map[string]int `json:"languages,omitempty"`
	Files     int            `json:"files,omitempty"`
	// Recent are files changed last, the newest first.
	Recent []string `json:"recent,omitempty"`
}

// Tool is one thing the agent can do.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
}

// Policy is the constraints on this decision from the person, the state machine and the
// words of the goal.
type Policy struct {
	// Model is "slm" or "llm" if the person forced one, else "".
	Model string `json:"model,omitempty"`
	// ReadOnly says that only read-only tools are offered, NoTools that no tool may be
	// called, MustFinish that the action must be finish.
	ReadOnly   bool `json:"read_only,omitempty"`
	NoTools    bool `json:"no_tools,omitempty"`
	MustFinish bool `json:"must_finish,omitempty"`
	// Stuck says that the last steps repeated themselves.
	Stuck bool `json:"stuck,omitempty"`
	// Notes are sentences for the decision: a denied call with its rule, the
	// nearest names of an unknown tool.
	Notes []string `json:"notes,omitempty"`
}

// Models that Policy.Model can force.
const (
	ModelSLM = "slm"
	ModelLLM = "llm"
)

// Memory is the agent's memory of the run: the last steps in full, and a summary of
// earlier ones.
type Memory struct {
	// Summary describes the Omitted earliest steps, which Steps lacks.
	Summary string `json:"summary,omitempty"`
	Omitted int    `json:"omitted,omitempty"`
	Steps   []Step `json:"steps"`
}

// Step is one decision of the run and its outcomes.
type Step struct {
	Index     int       `json:"index"`
	Action    Action    `json:"action"`
	Reasoning string    `json:"reasoning,omitempty"`
	Outcomes  []Outcome `json:"outcomes,omitempty"`
}

// Outcome is the end of one call: Result or Error.
type Outcome struct {
	ToolName string          `json:"tool_name"`
	Args     json.RawMessage `json:"args,omitempty"`
	// Result is the tool's JSON. If that was too large, Cut is set and Result is a
	// JSON string with its beginning.
	Result json.RawMessage `json:"result,omitempty"`
	Cut    bool            `json:"cut,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
}

// Limits are the bounds the agent works in.
type Limits struct {
	// MaxSteps ends the run; StepsLeft counts this one.
	MaxSteps  int `json:"max_steps,omitempty"`
	StepsLeft int `json:"steps_left,omitempty"`
	// MaxCalls is how many calls one Intent may have.
	MaxCalls int `json:"max_calls,omitempty"`
	// TimeoutMS is how long an attempt waits for the answer, in milliseconds.
	TimeoutMS int `json:"timeout_ms,omitempty"`
}

// Encode returns the JSON object for the wire. Its lists are never null.
func (r Request) Encode() ([]byte, error) {
	r.Rules = list(r.Rules)
	r.Tools = list(r.Tools)
	r.LastOutput = list(r.LastOutput)
	r.Memory.Steps = list(r.Memory.Steps)
	return jsonvalue.Encode(r)
}

// list makes a nil list an empty one.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
