package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// maxProtocolBytes bounds the parameters that are decoded into Go values. The arguments of
// tools and prompts never are.
const maxProtocolBytes = 1 << 20

// errUnanswered marks a request that no part of the server has answered.
var errUnanswered = errors.New("the request was not answered")

// answer answers a request other than tools/call and subscriptions/listen. A panic is
// INTERNAL; its text is only logged.
func (c *connection) answer(ctx context.Context, r *request) (answer *jsonrpc.Reply) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic(r.Method, panicked)
			answer = internalReply(r.ID)
		}
	}()
	if reply := r.readEra(); reply != nil {
		return reply
	}
	handle := r.handler()
	if handle == nil {
		return r.unknownMethod()
	}
	if strings.HasSuffix(r.Method, "/list") && r.readCursor() != nil {
		return r.failed()
	}
	result, err := handle(ctx)
	if err != nil || r.failure != nil {
		return r.failed()
	}
	if r.Peer.modern {
		r.stamp(result)
	}
	return jsonrpc.Succeed(r.ID, result)
}

// fail records the error to report and returns it.
func (r *request) fail(code int, err error) error {
	coded := fault.From(err)
	r.connection.server.logCause("request failed", r.Method, coded)
	if errors.Is(coded, fault.Internal) {
		code = jsonrpc.InternalError
	}
	coded = fault.From(spelled(coded, r.speller()))
	r.failure = &jsonrpc.Error{Code: code, Message: coded.Error(), Data: coded}
	return coded
}

// failed is the reply with the error that was recorded.
func (r *request) failed() *jsonrpc.Reply {
	return &jsonrpc.Reply{JSONRPC: jsonrpc.Version, ID: r.ID, Error: r.failure}
}

// internalReply is the fallback reply; the cause is logged.
func internalReply(id json.RawMessage) *jsonrpc.Reply {
	coded := fault.From(errUnanswered)
	return jsonrpc.Fail(id, jsonrpc.InternalError, coded.Error(), coded)
}

// stamp completes a result for revision 2026-07-28 and later: it marks it as complete, adds
// the server's name and version, and says that lists and contents may change at any time
// and are for this client only.
func (r *request) stamp(result mcp.ResultMetadata) {
	if result.GetResultType() == "" {
		result.SetResultType(mcp.ResultTypeComplete)
	}
	if cacheable, ok := result.(mcp.CacheHintSetter); ok {
		cacheable.SetCacheHints(0, mcp.CacheScopePrivate)
	}
	result.EnsureResultMeta().SetServerInfo(r.connection.server.implementation())
}
