package streamable

import (
	"savant/engines"
	"savant/engines/mcpio"
	"savant/internal/access"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// needs returns the scopes that a message requires.
func needs(server *mcpio.Server, m *jsonrpc.Message) []access.Scope {
	switch {
	case m.IsResponse() || m.Method == mcpio.MethodTaskUpdate:
		return []access.Scope{access.Approve} // it carries a user's answer
	case m.Method != "tools/call":
		return []access.Scope{access.Read}
	}
	needed := []access.Scope{access.Run} // an unknown tool may do anything
	if tool, known := server.Tool(jsonvalue.TextMember(m.Params, "name")); known {
		needed = []access.Scope{scopeOf(tool)}
	}
	if len(jsonvalue.Member(m.Params, "inputResponses")) > 0 {
		needed = append(needed, access.Approve)
	}
	return needed
}

// scopeOf derives the scope from the tool: approve for one that takes the answer given in a
// page, read for a read-only tool, guide for a tool of think, run for any other.
func scopeOf(tool engines.Tool) access.Scope {
	switch {
	case tool.ForPages:
		return access.Approve
	case tool.ReadOnly:
		return access.Read
	case engines.EngineOf(tool.Name) == "think":
		return access.Guide
	}
	return access.Run
}
