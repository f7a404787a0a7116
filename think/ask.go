package think

import (
	"context"
	"encoding/json"
)

// Ask puts a form to the person behind a call and waits for what they do.
type Ask func(ctx context.Context, form Form) (Filled, error)

// Form is a question to a person.
type Form struct {
	Message string
	// Schema is a flat JSON Schema object, as MCP requires.
	Schema json.RawMessage
}

// Filled is what the person did: Action is "accept", "decline" or "cancel";
// Content is the filled form when accepted.
type Filled struct {
	Action  string
	Content json.RawMessage
}

// asker returns how to ask the person behind a call, nil where nobody can be
// asked.
func (e *Engine) asker(ctx context.Context) Ask {
	if e.Person == nil {
		return nil
	}
	return e.Person(ctx)
}
