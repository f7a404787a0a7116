package agent

import (
	"context"
	"encoding/json"

	"savant/engines"
)

// Toolbox is what an agent works with; the registry is one, and a policy makes
// one of another. It may be used by several goroutines at once.
type Toolbox interface {
	// Tools returns what may be called, sorted by name. The list is the
	// caller's.
	Tools() []engines.Tool
	// Invoke calls a tool by its name in either spelling. The error is a
	// *fault.Error: UNKNOWN_TOOL, INVALID_PARAMS, TOOL_DENIED, or that of the
	// tool.
	Invoke(ctx context.Context, name string, args json.RawMessage) (engines.Result, error)
}
