package mcpio

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
)

// anyName stands for every tool and every prompt, anyURI for every resource.
// mcp-go knows one of each. Which one is meant travels in the request beside
// the message, together with the raw arguments: so large arguments are not
// decoded several times, numbers keep their digits, and lists that change
// need no bookkeeping in a second registry.
const (
	anyName = "any"
	anyURI  = "savant:any"
)

// maxProtocolBytes bounds what mcp-go is given: it decodes a message four times
// into maps, which takes seconds for 10 MB of small objects (measured on
// v1.2.1). The arguments of tools and prompts are not part of it.
const maxProtocolBytes = 1 << 20

// request is one request on its way through mcp-go and back.
type request struct {
	message    *message
	connection *connection
	session    *session
	received   time.Time
	// failure, when set, replaces the error mcp-go would report: its own are
	// not coded.
	failure *mcp.JSONRPCErrorDetails
	// call is set for tools/call.
	call *call
}

type requestKey struct{}

func withRequest(ctx context.Context, r *request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// requestFrom returns the request mcp-go is handling. Every context handed to
// HandleMessage carries one.
func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// forProtocol returns the message as mcp-go is to see it.
func (r *request) forProtocol() json.RawMessage {
	key, name := "name", anyName
	switch mcp.MCPMethod(r.message.Method) {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		key, name = "uri", anyURI
	default:
		return exact(r.message.raw)
	}
	meta := r.message.Params.Meta
	if meta == nil {
		meta = json.RawMessage("{}")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%q:%q,"_meta":%s}}`,
		r.message.ID, r.message.Method, key, name, meta)
}

// fail records the error to report and returns it for mcp-go to pass on.
func (r *request) fail(code int, err error) error {
	coded := fault.From(err)
	r.connection.server.logCause("request failed", r.message.Method, coded)
	r.failure = &mcp.JSONRPCErrorDetails{Code: code, Message: coded.Error(), Data: coded}
	return coded
}

// handle lets mcp-go answer a request. A panic is answered as INTERNAL; its
// text goes to the log alone.
func (c *connection) handle(ctx context.Context, r *request) (answer *reply) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic(r.message.Method, panicked)
			answer = internalReply(r.message.ID)
		}
	}()
	asked := r.forProtocol()
	if len(asked) > maxProtocolBytes {
		return errorReply(r.message.ID, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_PARAMS,
			Message: fmt.Sprintf("%s takes at most %d bytes beside its arguments", r.message.Method, maxProtocolBytes)})
	}
	protocol := c.server.protocol
	ctx = protocol.WithContext(withRequest(ctx, r), r.session)
	switch given := protocol.HandleMessage(ctx, asked).(type) {
	case mcp.JSONRPCResponse:
		if r.failure == nil {
			return resultReply(r.message.ID, onWire(given.Result))
		}
	case mcp.JSONRPCError:
		if r.failure == nil {
			return errorReply(r.message.ID, &given.Error)
		}
	}
	if r.failure != nil {
		return errorReply(r.message.ID, r.failure)
	}
	return internalReply(r.message.ID)
}

// internalReply is the answer when there is no other: the log has the cause.
func internalReply(id json.RawMessage) *reply {
	coded := fault.From(errUnanswered)
	return errorReply(id, &mcp.JSONRPCErrorDetails{
		Code: mcp.INTERNAL_ERROR, Message: coded.Error(), Data: coded})
}
