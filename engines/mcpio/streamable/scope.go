package streamable

import (
	"savant/engines"
	"savant/internal/access"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// needs returns the scopes that a message needs.
func needs(registry *engines.Registry, m *jsonrpc.Message) []access.Scope {
	switch {
	case m.IsResponse():
		return []access.Scope{access.Approve} // it answers what a person was asked
	case m.Method != "tools/call":
		return []access.Scope{access.Read}
	}
	needed := []access.Scope{access.Run} // a tool that nobody knows yet may do anything
	if tool, known := registry.Resolve(jsonvalue.TextMember(m.Params, "name")); known {
		needed = []access.Scope{scopeOf(tool)}
	}
	if len(jsonvalue.Member(m.Params, "inputResponses")) > 0 {
		needed = append(needed, access.Approve)
	}
	return needed
}

// scopeOf is what a tool's own annotations say: what only reads may be read, what
// leads through workflows is for who is guided, and the rest acts.
func scopeOf(tool engines.Tool) access.Scope {
	switch {
	case tool.ReadOnly:
		return access.Read
	case engines.EngineOf(tool.Name) == "think":
		return access.Guide
	}
	return access.Run
}
