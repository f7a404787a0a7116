package agent

import (
	"context"
	"encoding/json"

	"savant/engines"
)

// Toolbox holds the tools that an agent can call; engines.Registry implements it. It is
// safe for concurrent use.
type Toolbox interface {
	// Tools returns all tools, sorted by name. The caller may change the list.
	Tools() []engines.Tool
	// Engines returns the names of all engines, also of those whose tools are not
	// known yet. The caller may change the list.
	Engines() []string
	// Invoke asks the guards of the call (engines.Call.Guarded), and calls a tool by its
	// name in either spelling. The error is a *fault.Error: UNKNOWN_TOOL, INVALID_PARAMS,
	// TOOL_DENIED, or that of the tool.
	Invoke(ctx context.Context, call engines.Call, name string, args json.RawMessage) (engines.Result, error)
}

// Seeker is a Toolbox that can discover tools it does not list yet.
type Seeker interface {
	// Seek returns the tool of a name in either spelling. It may start a mounted server
	// and wait for its list. The errors are UNKNOWN_TOOL, and ENGINE_OFFLINE if the engine
	// cannot be reached.
	Seek(ctx context.Context, name string) (engines.Tool, error)
}
