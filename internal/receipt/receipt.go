// Package receipt is the proof of a tool call.
package receipt

import (
	"encoding/json"
	"time"
)

// Receipt proves that a call went through the registry (package engines), which makes it.
// think/state keeps it, and think.next compares it with the result that a model gives for
// a step. Calls of think, agent and workflow leave none.
type Receipt struct {
	// ID is 8 random characters of a-z and 2-7.
	ID string `json:"id"`
	// Tool is the canonical name.
	Tool string `json:"tool"`
	// Input and Output are digests (jsonvalue.Digest) of the arguments as the tool got
	// them, see engines.Registry.InputDigest, and of the result.
	Input  string `json:"input"`
	Output string `json:"output"`
	// Arguments are the arguments that Input covers, unless they are long.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Failed: the call failed, and Result is the fault object.
	Failed bool `json:"failed,omitempty"`
	// Artifact is the reference of the whole result if it was too large to return;
	// Result still holds the whole.
	Artifact string          `json:"artifact,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	// Run is the run that made the call itself; empty if a client made it.
	Run string `json:"run,omitempty"`
	// Command, CommandDigest and CommandFile identify the command that a tool such as
	// ci.run executed: its name in the file of commands, its digest, and the file's
	// digest. Empty for other tools.
	Command       string `json:"command,omitempty"`
	CommandDigest string `json:"command_digest,omitempty"`
	CommandFile   string `json:"command_file,omitempty"`
	// Time is when the call ended.
	Time time.Time `json:"time"`
}
