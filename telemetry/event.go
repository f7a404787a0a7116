// Package telemetry records the events of Think and of the agent in
// logs/agent_trace.log. It redacts them before anything else sees them.
package telemetry

import (
	"encoding/json"

	"savant/fault"
	"savant/internal/redact"
	"savant/internal/visible"
)

// Type is the type of an event.
type Type string

// The types of events. A run has exactly one reasoning_step per step.
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

// Request is a client's request to the server. It has a span but no event. Its metadata
// contain the request id and the protocol version.
const (
	Request Type = "request"

	MetaRequestID = "request_id"
	MetaProtocol  = "protocol_version"
	MetaTransport = "transport" // as network.transport has it
)

// MetaRules names, in the metadata of a tool_call_completed, the rules that refused the
// call, separated by commas.
const MetaRules = "rules"

// MetaExchange is, in the metadata of an llm_call, the digest under which the prompt and the
// reply are kept: beside the journal of a run of the agent, among the artifacts for a step of
// a workflow.
const MetaExchange = "exchange"

// StatusCanceled is the status of a call cancelled by its caller.
const StatusCanceled = "canceled"

// Types returns every type of event.
func Types() []Type {
	return []Type{RunStarted, PromptSnapshot, LLMCall, ReasoningStep, ToolCallStarted, ToolCallCompleted,
		MemorySnapshot, PolicyDenied, Retry, Error, RunFinished}
}

// The sources of an event.
const (
	SourceAgent = "agent"
	SourceMCP   = "mcp" // a client of the server
	SourceCLI   = "cli" // a command
)

// Who says who ordered something.
type Who struct {
	// By is the name of the caller's token, or "local", "terminal" or "hub".
	By string `json:"by,omitempty"`
	// Claims is what the client calls itself, with its version; nobody checked it.
	Claims string `json:"by_claims,omitempty"`
}

// maxClaim bounds what a client calls itself, in bytes.
const maxClaim = 100

// WhoIs returns who the caller of a name is, which calls its program client.
func WhoIs(name, client string) Who {
	return Who{name, visible.Line(fault.Cut(redact.Shapes().Text(fault.Cut(client, 4*maxClaim)), maxClaim))}
}

// Event is one line of the trace. Its schema is schemas/telemetry_event.json.
type Event struct {
	// Sequence counts the events of one process from 1. The recorder sets it.
	Sequence uint64 `json:"seq"`
	// Timestamp is RFC 3339 in UTC, with fractions of a second. The recorder sets it if
	// it is empty.
	Timestamp string `json:"timestamp"`
	Type      Type   `json:"type"`
	// Source is SourceAgent, SourceMCP or SourceCLI.
	Source string `json:"source,omitempty"`
	// Who made the call, or ordered the run.
	Who
	SessionID string `json:"session_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
	Workflow  string `json:"workflow,omitempty"`
	StepID    string `json:"step_id,omitempty"`
	// Step counts from 1 within a run of the agent.
	Step         int    `json:"step,omitempty"`
	Model        string `json:"model,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	// Action is the agent's decision: tool, reason, finish or error.
	Action   string `json:"action,omitempty"`
	ToolName string `json:"tool_name,omitempty"`
	// CallID identifies a call within a step, and connects its start and end.
	CallID string          `json:"call_id,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	// Output is the beginning of a result.
	Output string `json:"output,omitempty"`
	// Status is the outcome: ok, failed, denied, cached, canceled …
	Status string   `json:"status,omitempty"`
	Error  *Failure `json:"error,omitempty"`
	// DurationMS is in milliseconds.
	DurationMS float64 `json:"duration_ms,omitempty"`
	// TraceParent is the W3C trace context of the call.
	TraceParent string         `json:"traceparent,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// Failure is an error with its code.
type Failure struct {
	Code    string `json:"error"`
	Details string `json:"details,omitempty"`
}

// maxLine is the maximum length of a line of the trace file, maxText that of each text
// of an event, in bytes.
const (
	maxLine = 32 << 10
	maxText = 2000
)

// line returns the event as one line of JSON without invisible characters. If it is too long, the arguments, the
// output and the metadata are omitted, and the line says so.
func (e Event) line() ([]byte, error) {
	data, err := e.encoded()
	if err != nil {
		return nil, err
	}
	if len(data) >= maxLine {
		e.Args, e.Output = nil, ""
		e.Metadata = map[string]any{"left_out": "args, output and metadata: the event is too large", "bytes": len(data)}
		if data, err = e.encoded(); err != nil {
			return nil, err
		}
	}
	return append(data, '\n'), nil
}

func (e Event) encoded() ([]byte, error) {
	data, err := json.Marshal(e)
	return visible.JSON(data), err
}
