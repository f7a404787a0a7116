package mcpio

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// Revision 2026-07-28 has no initialize: the _meta of every request carries the
// revision, the sender and its capabilities. mcp-go reads it for the methods that it
// serves; this file does so for the methods of this package.

// maxEcho bounds how much of a client's text an error repeats, in bytes.
const maxEcho = 200

// readEra reads the _meta of a request into its session. It returns the reply that
// refuses the request, or nil.
func (r *request) readEra(ctx context.Context) *jsonrpc.Reply {
	meta := r.params.Meta
	switch kind := jsonrpc.Kind(meta); {
	case kind == "" || kind == "null":
		return nil
	case kind != "object":
		return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, invalidParams(r.Method)+": params._meta is "+kind, nil)
	case len(meta) > maxProtocolBytes:
		return tooLarge(r)
	}
	version := jsonvalue.TextMember(meta, mcp.MetaKeyProtocolVersion)
	if !mcp.IsModernProtocol(version) {
		return nil
	}
	if !mcp.IsValidProtocolVersion(version) {
		failure := mcp.UnsupportedProtocolVersionError{Version: fault.Cut(version, maxEcho),
			Supported: server.SupportedProtocolVersionsFromContext(ctx)}.JSONRPCError().Error
		return jsonrpc.Fail(r.ID, failure.Code, failure.Message, failure.Data)
	}
	var given mcp.Meta
	if json.Unmarshal(meta, &given) != nil || given.ClientCapabilities() == nil {
		return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, "missing or invalid _meta field "+mcp.MetaKeyClientCapabilities, nil)
	}
	r.session.modern, r.session.capabilities = true, *given.ClientCapabilities()
	if info := given.ClientInfo(); info != nil {
		r.session.client = *info
	}
	return nil
}

// stamp completes a result for revision 2026-07-28 and later: it marks it as complete
// and adds the server's name and version.
func (r *request) stamp(result mcp.ResultMetadata) {
	if result.GetResultType() == "" {
		result.SetResultType(mcp.ResultTypeComplete)
	}
	options := r.connection.server.options
	result.EnsureResultMeta().SetServerInfo(mcp.Implementation{Name: options.Name, Title: options.Title, Version: options.Version})
}
