package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// maxProtocolBytes bounds the messages given to mcp-go: it decodes a message four times
// into maps, which takes seconds for 10 MB of small objects (measured on v1.2.1). The
// arguments of tools and prompts never reach it.
const maxProtocolBytes = 1 << 20

// errUnanswered marks a request that no part of the server has answered.
var errUnanswered = errors.New("the request was not answered")

// answer answers a request other than tools/call. A panic is INTERNAL; its text is only
// logged.
func (c *connection) answer(ctx context.Context, r *request) (answer *jsonrpc.Reply) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic(r.Method, panicked)
			answer = internalReply(r.ID)
		}
	}()
	offer := c.server.options.Offer
	if isTaskMethod(r.Method) {
		return c.served(ctx, r, r.aboutTask)
	}
	switch method := mcp.MCPMethod(r.Method); {
	case method == mcp.MethodPromptsGet && offer.Prompts != nil:
		return c.served(ctx, r, r.getPrompt)
	case method == mcp.MethodResourcesRead && offer.ReadResource != nil:
		return c.served(ctx, r, r.readResource)
	case r.Method == methodSkillsList && offer.Skills != nil:
		return c.served(ctx, r, r.listSkills)
	case r.Method == methodSkillsGet && offer.Skills != nil:
		return c.served(ctx, r, r.getSkill)
	case len(r.Method) > maxEcho:
		return jsonrpc.Fail(r.ID, jsonrpc.MethodNotFound, "Method "+fault.Cut(r.Method, maxEcho)+" not found", nil)
	}
	return c.handle(ctx, r)
}

// served answers a request with a method of this package.
func (c *connection) served(ctx context.Context, r *request, serve func(context.Context) (mcp.ResultMetadata, error)) *jsonrpc.Reply {
	if refused := r.readEra(ctx); refused != nil {
		return refused
	}
	result, err := serve(ctx)
	if r.failure != nil || err != nil {
		return &jsonrpc.Reply{JSONRPC: jsonrpc.Version, ID: r.ID, Error: r.failure}
	}
	if r.session.modern {
		r.stamp(result)
	}
	return jsonrpc.Succeed(r.ID, result)
}

// handle lets mcp-go answer a request.
func (c *connection) handle(ctx context.Context, r *request) *jsonrpc.Reply {
	asked, err := r.forProtocol()
	switch {
	case err != nil:
		return internalReply(r.ID)
	case len(asked) > maxProtocolBytes:
		return tooLarge(r)
	}
	protocol := c.server.protocol
	ctx = protocol.WithContext(ctx, handled{r.session, r})
	given := protocol.HandleMessage(ctx, asked)
	if r.failure != nil {
		return &jsonrpc.Reply{JSONRPC: jsonrpc.Version, ID: r.ID, Error: r.failure}
	}
	switch given := given.(type) {
	case mcp.JSONRPCResponse:
		return jsonrpc.Succeed(r.ID, given.Result)
	case mcp.JSONRPCError:
		return jsonrpc.Fail(r.ID, given.Error.Code, given.Error.Message, given.Error.Data)
	}
	return internalReply(r.ID)
}

// handled is the session that mcp-go gets, with the request that it handles.
type handled struct {
	*session
	request *request
}

// requestFrom returns the request that mcp-go handles. Every context given to
// HandleMessage carries one.
func requestFrom(ctx context.Context) *request {
	return server.ClientSessionFromContext(ctx).(handled).request //nolint:forcetypeassert // see handle
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

func tooLarge(r *request) *jsonrpc.Reply {
	return jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, fmt.Sprintf("%s takes at most %d bytes in addition to its arguments", fault.Cut(r.Method, maxEcho), maxProtocolBytes), nil)
}

// internalReply is the fallback reply; the cause is logged.
func internalReply(id json.RawMessage) *jsonrpc.Reply {
	coded := fault.From(errUnanswered)
	return jsonrpc.Fail(id, jsonrpc.InternalError, coded.Error(), coded)
}

// protocolNames are the parameters that mcp-go reads.
var protocolNames = []string{"_meta", "protocolVersion", "capabilities", "clientInfo", "cursor", "ref", "argument", "context", "level", "uri", "name",
	"arguments", "notifications"}

// forProtocol returns the message for mcp-go, with only the parameters that it reads:
// mcp-go matches names without regard to case.
func (r *request) forProtocol() (json.RawMessage, error) {
	message := map[string]any{"jsonrpc": jsonrpc.Version, "id": r.ID, "method": r.Method}
	if jsonrpc.Kind(r.Params) == "object" {
		given := map[string]json.RawMessage{}
		for name, value := range jsonvalue.Members(r.Params) {
			if slices.Contains(protocolNames, name) {
				given[name] = value
			}
		}
		message["params"] = given
	}
	return json.Marshal(message)
}
