package reasoning

import "encoding/json"

// Action is what an Intent asks for.
type Action string

// The actions.
const (
	// ActionTool calls ToolName with Args, or all of Calls.
	ActionTool Action = "tool"
	// ActionReason only thinks: Reasoning is remembered.
	ActionReason Action = "reason"
	// ActionFinish ends the run with Final.
	ActionFinish Action = "finish"
	// ActionError ends the run without a decision: Error says why, and Final may have a
	// partial result.
	ActionError Action = "error"
)

// OfflinePlanner names the decider that is no model.
const OfflinePlanner = "offline-planner"

// Intent is the decision for one step.
type Intent struct {
	Action Action `json:"action"`
	// ToolName is canonical if it names an offered tool, else as answered. Args is a JSON
	// object.
	ToolName string          `json:"tool_name,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	// Calls are independent of each other and may run concurrently. An intent has either
	// ToolName or Calls; AllCalls unifies both forms.
	Calls []Call `json:"calls,omitempty"`
	Final string `json:"final,omitempty"`
	// Reasoning is the rationale, in a sentence or two.
	Reasoning string `json:"reasoning,omitempty"`
	// Error is the reason of an ActionError.
	Error string `json:"error,omitempty"`
	// Model names the decider: a model or OfflinePlanner.
	Model        string `json:"model,omitempty"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	// Prompt describes what the model was shown; nil if there was no prompt.
	Prompt *Prompt `json:"prompt,omitempty"`
	// Warnings are for the person, one sentence each; for example that the input was
	// truncated.
	Warnings []string `json:"warnings,omitempty"`
	// Cached says that a stored answer was used, at no cost.
	Cached bool `json:"cached,omitempty"`
	// Repairs lists the repairs of the answer, one sentence each.
	Repairs []string `json:"repairs,omitempty"`
}

// Call is one call of an intent.
type Call struct {
	ToolName string          `json:"tool_name"`
	Args     json.RawMessage `json:"args,omitempty"`
}

// AllCalls returns the calls of an intent in either form; nil unless its action is
// tool.
func (i Intent) AllCalls() []Call {
	switch {
	case i.Action != ActionTool:
		return nil
	case len(i.Calls) > 0:
		return i.Calls
	default:
		return []Call{{ToolName: i.ToolName, Args: i.Args}}
	}
}

// Prompt describes a prompt without repeating it: the same input has the same
// hash. Sizes are estimated tokens.
type Prompt struct {
	// Hash is hex SHA-256 of the bytes.
	Hash     string    `json:"hash"`
	Tokens   int       `json:"tokens"`
	Sections []Section `json:"sections"`
	// Seen has the texts of a question's data that were cut: how many of their first lines
	// were shown whole.
	Seen map[string]int `json:"seen,omitempty"`
}

// Section is one part of a prompt. Trimmed counts the tokens left out.
type Section struct {
	Name    string `json:"name"`
	Tokens  int    `json:"tokens"`
	Trimmed int    `json:"trimmed,omitempty"`
}
