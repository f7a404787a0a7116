// Package telemetry records what Savant does: Think and the agent share one type
// of event, written to logs/agent_trace.log. Events are redacted here, before
// anything else sees them.
package telemetry

import (
	"encoding/json"
)

// Type says what happened.
type Type string

// The types of events. A run has exactly one reasoning_step for each of its
// steps.
const (
	RunStarted        Type = "run_started"
	PromptSnapshot    Type = "prompt_snapshot"
	LLMCall           Type = "llm_call"
	ReasoningStep     Type = "reasoning_step"
	ToolCallStarted   Type = "tool_call_started"
	ToolCallCompleted Type = "tool_call_completed"
	MemorySnapshot    Type = "memory_snapshot"
	PolicyDenied      Type = "policy_denied"
	Retry             Type = "retry"
	Error             Type = "error"
	RunFinished       Type = "run_finished"
)

// Request is a request from a client of the server. It has a span and no event.
// Its metadata hold the request id and the protocol version.
const (
	Request Type = "request"

	MetaRequestID = "request_id"
	MetaProtocol  = "protocol_version"
)

// StatusCanceled is the status of a call that its caller canceled.
const StatusCanceled = "canceled"

// Types returns every type of event.
func Types() []Type {
	return []Type{RunStarted, PromptSnapshot, LLMCall, ReasoningStep, ToolCallStarted, ToolCallCompleted,
		MemorySnapshot, PolicyDenied, Retry, Error, RunFinished}
}

// Where an event comes from.
const (
	SourceAgent = "agent"
	SourceMCP   = "mcp" // a client of the server
	SourceCLI   = "cli" // a command
)

// Event is one thing that happened. schemas/telemetry_event.json is its schema.
type Event struct {
	// Sequence counts the events of one process from 1. The recorder sets it.
	Sequence uint64 `json:"seq"`
	// Timestamp is RFC 3339 in UTC, with fractions of a second. The recorder
	// sets it where it is empty.
	Timestamp string `json:"timestamp"`
	Type      Type   `json:"type"`
	// Source is SourceAgent, SourceMCP or SourceCLI.
	Source    string `json:"source,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
	Workflow  string `json:"workflow,omitempty"`
	StepID    string `json:"step_id,omitempty"`
	// Step counts from 1 within a run of the agent.
	Step         int    `json:"step,omitempty"`
	Model        string `json:"model,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	// Action is what was decided: tool, reason, finish or error.
	Action   string `json:"action,omitempty"`
	ToolName string `json:"tool_name,omitempty"`
	// CallID tells the calls of one step apart, and joins the start of a call
	// to its end.
	CallID string          `json:"call_id,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	// Output is the beginning of a result.
	Output string `json:"output,omitempty"`
	// Status is how something ended: ok, failed, denied, cached, canceled …
	Status string   `json:"status,omitempty"`
	Error  *Failure `json:"error,omitempty"`
	// DurationMS is in milliseconds.
	DurationMS float64 `json:"duration_ms,omitempty"`
	// TraceParent is the W3C trace context a call came with.
	TraceParent string         `json:"traceparent,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// Failure is an error with its code.
type Failure struct {
	Code    string `json:"error"`
	Details string `json:"details,omitempty"`
}

// maxLine is the size limit of a line of the trace file, maxText that of each
// text of an event, both in bytes.
const (
	maxLine = 32 << 10
	maxText = 2000
)

// line returns the event as one line of JSON. If that is too long, it leaves out
// the arguments, the output and the metadata, and says so.
func (e Event) line() ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if len(data) >= maxLine {
		e.Args, e.Output = nil, ""
		e.Metadata = map[string]any{"left_out": "args, output and metadata: the event is too large", "bytes": len(data)}
		if data, err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return append(data, '\n'), nil
}
