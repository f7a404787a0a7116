package mcpio

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// maxEcho bounds how much of a client's text an error repeats, in bytes.
const maxEcho = 200

// readEra reads the _meta of a request into its peer: revision 2026-07-28 has no
// initialize, and every request carries the revision, the sender and its capabilities. It
// returns the reply that refuses the request, or nil.
func (r *request) readEra() *jsonrpc.Reply {
	meta := r.params.Meta
	switch kind := jsonrpc.Kind(meta); {
	case kind == "" || kind == "null":
		return nil
	case kind != "object":
		return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, invalidParams(r.Method)+": params._meta is "+kind, nil)
	case len(meta) > maxProtocolBytes:
		return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, tooLarge(r.Method), nil)
	}
	version := jsonvalue.TextMember(meta, mcp.MetaKeyProtocolVersion)
	if !mcp.IsModernProtocol(version) {
		return nil
	}
	if !mcp.IsValidProtocolVersion(version) {
		return unsupported(r.ID, version)
	}
	var given mcp.Meta
	if json.Unmarshal(meta, &given) != nil || given.ClientCapabilities() == nil {
		return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, "missing or invalid _meta field "+mcp.MetaKeyClientCapabilities, nil)
	}
	r.Peer.modern, r.Peer.Protocol = true, version
	r.Peer.declare(*given.ClientCapabilities())
	if info := given.ClientInfo(); info != nil {
		r.Peer.identify(*info)
	}
	return nil
}
