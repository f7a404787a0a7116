// Package memory stores what an agent remembers of a run: steps, errors, summaries
// and state. The journal of a session holds everything, one record a line. The
// snapshot holds what fits into the view of a model.
//
//	.savant/sessions/ID.journal   every record, appended; the truth
//	.savant/sessions/ID.json      the snapshot, replaced while a run goes on
//	.savant/sessions/ID.outputs/  outputs too large for a step, and prompts, by digest
//	.savant/sessions/ID.cancel    a request to end the run
//	.savant/session.json          the snapshot of the session that ran last
package memory

import (
	"encoding/json"

	"savant/fault"
)

// Step is one decision and its results.
type Step struct {
	// Index counts from 1.
	Index int `json:"index"`
	// Action is what was decided: tool, reason, finish or error; cancel if the run was
	// canceled.
	Action    string `json:"action"`
	Reasoning string `json:"reasoning,omitempty"`
	// Final is the answer of a finish, Error why an error could decide nothing.
	Final string `json:"final,omitempty"`
	Error string `json:"error,omitempty"`
	Calls []Call `json:"calls,omitempty"`
}

// Call is one call of a tool: Output or Error.
type Call struct {
	Tool string          `json:"tool_name"`
	Args json.RawMessage `json:"args,omitempty"`
	// Output is the JSON of the result. Where Cut is set it is a JSON string
	// with the beginning of it.
	Output json.RawMessage `json:"output,omitempty"`
	Error  *fault.Error    `json:"error,omitempty"`
	Cut    bool            `json:"cut,omitempty"`
	// Note says that an output was cut and where the whole is, or why no call was made.
	Note string `json:"note,omitempty"`
	// Artifact is the file under SAVANT_PATH that holds the whole output.
	Artifact string `json:"artifact,omitempty"`
	// Cached: the output is that of an earlier call with the same arguments.
	Cached bool `json:"cached,omitempty"`
	// Rule is the rule of policy that denied the call, or "".
	Rule       string  `json:"rule,omitempty"`
	DurationMS float64 `json:"duration_ms,omitempty"`
}

// Failure is one error of the run. Failures are apart from the steps, so that they
// are seen after the steps were summarized.
type Failure struct {
	Step    int        `json:"step"`
	Tool    string     `json:"tool_name,omitempty"`
	Code    fault.Code `json:"error"`
	Details string     `json:"details"`
}

// Stub stands for the steps that are not shown.
type Stub struct {
	Index string `json:"index"` // always "summary"
	Note  string `json:"note"`
}

// failures returns the errors of a step.
func (s Step) failures() []Failure {
	var list []Failure
	for _, each := range s.Calls {
		if each.Error != nil {
			list = append(list, Failure{s.Index, each.Tool, each.Error.Code, fault.Cut(each.Error.Message(), maxDetails)})
		}
	}
	return list
}
