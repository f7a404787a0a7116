package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/httpclient"
	"savant/internal/jsonrpc"
)

// cancelGrace bounds how long sending a cancellation to the server may take.
const cancelGrace = 2 * time.Second

// ConnectHTTP connects to a server over Streamable HTTP (revision 2025-03-26 and
// later). If the server offers a stream for its own messages, the client listens to it.
// headers are sent with every request, and only to this origin: a redirect to another
// origin is refused. Errors contain not the address, and of the
// server's text only the beginning of what is no message, without what Hidden hides. ctx
// bounds the initialization only.
func ConnectHTTP(ctx context.Context, address string, headers map[string]string, options Options) (*Client, error) {
	c := newClient(ctx, options)
	guarded := &guard{base: http.DefaultTransport.(*http.Transport).Clone(), headers: headers, limit: int64(c.options.MaxLine)}
	requests, err := transport.NewStreamableHTTP(address,
		transport.WithHTTPBasicClient(&http.Client{Transport: guarded, CheckRedirect: httpclient.SameOrigin}),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
		//lint:ignore SA1019 servers before 2026-07-28 have no other way, and this client greets later ones by itself
		transport.WithContinuousListening())
	if err != nil {
		c.end()
		return nil, fault.New(fault.InvalidParams, "url: expected an address")
	}
	h := &httpLink{client: c, requests: requests, guard: guarded}
	guarded.skip = h.skip
	c.link = h
	requests.SetNotificationHandler(h.notified)
	requests.SetRequestHandler(h.requested)
	err = requests.Start(c.life) // from then on it listens, to servers before 2026-07-28
	if err == nil {
		err = c.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return c, nil
}

// httpLink is a server reached over HTTP. mcp-go is the transport: it handles sessions,
// event streams and their resumption.
type httpLink struct {
	client   *Client
	requests *transport.StreamableHTTP
	guard    *guard
	asked    atomic.Int64
	version  atomic.Pointer[string]
	logged   atomic.Int64 // parts that are no message
	// cancels counts the cancellations being sent.
	cancels sync.WaitGroup
}

func (h *httpLink) ended() <-chan struct{} { return h.client.life.Done() }

func (h *httpLink) agree(version string) {
	h.version.Store(&version)
	h.requests.SetProtocolVersion(version)
}

// close ends the session and aborts running requests.
func (h *httpLink) close() error {
	h.client.end()
	h.cancels.Wait()
	err := h.requests.Close()
	h.guard.base.CloseIdleConnections()
	if err != nil {
		return fault.New(fault.EngineOffline, "the server did not end the session")
	}
	return nil
}

func (h *httpLink) ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error) {
	asked := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, Method: method,
		ID: mcp.NewRequestId(fmt.Sprintf("savant-%d", h.asked.Add(1)))}
	if params != nil {
		asked.Params = params
	}
	header, err := h.header(method, params)
	if err != nil {
		return nil, err
	}
	asked.Header = header
	read := new(reading)
	answer, err := h.requests.SendRequest(context.WithValue(ctx, readingKey{}, read), asked)
	skipped := read.skipped.Load()
	switch {
	case read.over.Load():
		return nil, fault.New(fault.ToolFailed, "the server's answer to %s has more than %d bytes and was not read", method, h.guard.limit)
	case ctx.Err() != nil:
		h.tellCancelled(asked.ID)
		if skipped != nil {
			return nil, fault.New(fault.EngineOffline, "%s was not answered: %w", method, &SkippedLineError{*skipped, context.Cause(ctx)})
		}
		return nil, unanswered(ctx, method)
	case err != nil && skipped != nil:
		return nil, fault.New(fault.EngineOffline, "the server answered %s with what is no message of the protocol: %q", method, *skipped).OutcomeUnknown()
	case err != nil:
		return nil, h.failure(method, err)
	}
	return answered(method, asked.ID, answer)
}

// answered converts the answer to a request to a message. mcp-go takes the first answer
// of an event stream, whatever its id. An error may have no id if the server could not
// parse the request.
func answered(method string, id mcp.RequestId, answer *transport.JSONRPCResponse) (*jsonrpc.Message, error) {
	if answer.ID.String() != id.String() && (answer.Error == nil || !answer.ID.IsNil()) {
		return nil, fault.New(fault.ToolFailed, "the server was asked %s, and it answered another request", method)
	}
	if answer.Error == nil {
		return &jsonrpc.Message{Result: answer.Result}, nil
	}
	failure, err := json.Marshal(answer.Error)
	if err != nil {
		return nil, fault.New(fault.ToolFailed, "the server's error does not marshal: %w", err)
	}
	return &jsonrpc.Message{Error: failure}, nil
}

// header returns the headers that revision 2026-07-28 uses to route requests.
func (h *httpLink) header(method string, params map[string]any) (http.Header, error) {
	version := h.version.Load()
	if version == nil || !mcp.IsModernProtocol(*version) {
		return nil, nil
	}
	data, err := json.Marshal(params)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the message does not marshal: %w", err)
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(*version, mcp.MCPMethod(method), data) {
		header.Set(name, value)
	}
	return header, nil
}

// tellCancelled sends the cancellation of a request to the server in the background, if
// the revision has cancellations.
func (h *httpLink) tellCancelled(id mcp.RequestId) {
	if version := h.version.Load(); version != nil && mcp.IsModernProtocol(*version) || h.client.life.Err() != nil {
		return
	}
	h.cancels.Go(func() {
		ctx, cancel := context.WithTimeout(h.client.life, cancelGrace)
		defer cancel()
		_ = h.notify(ctx, string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id})
	})
}

func (h *httpLink) notify(ctx context.Context, method string, params map[string]any) error {
	said := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: method, Params: mcp.NotificationParams{AdditionalFields: params}}}
	if err := h.requests.SendNotification(ctx, said); err != nil {
		return h.failure(method, err)
	}
	return nil
}

// failure returns a coded error. It contains neither the address nor text of the
// server, since both may hold secrets.
func (h *httpLink) failure(method string, err error) error {
	var status statusError
	var format formatError
	switch {
	case h.client.life.Err() != nil:
		return fault.New(fault.EngineOffline, "the connection was closed before %s was answered", method).OutcomeUnknown()
	case errors.Is(err, transport.ErrSessionTerminated):
		return fault.New(fault.EngineOffline, "%w", ErrSessionOver)
	case errors.Is(err, transport.ErrAuthorizationRequired):
		return fault.New(fault.EngineOffline, "the server asks for authorization (HTTP 401): give it a header Authorization")
	case errors.Is(err, transport.ErrLegacySSEServer):
		return fault.New(fault.EngineOffline, "nothing at this address speaks Streamable HTTP: %w", errNotLegacy)
	case errors.As(err, &status) && status < 500: // the server refused this request only
		return fault.New(fault.ToolFailed, "the server answered %s with %w", method, status)
	case errors.As(err, &status):
		return fault.New(fault.EngineOffline, "the server answered %s with %w", method, status).OutcomeUnknown()
	case errors.As(err, &format):
		return fault.New(fault.EngineOffline, "the server answered %s with %w", method, format).OutcomeUnknown()
	case errors.Is(err, httpclient.ErrRedirected):
		return fault.New(fault.EngineOffline, "the server redirects to another address; Savant does not follow it, because the headers are for this address only")
	}
	unreachable := fault.New(fault.EngineOffline, "the server cannot be reached, or its answer to %s is not what the protocol says", method)
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return unreachable // nothing was sent
	}
	return unreachable.OutcomeUnknown()
}

// skip logs what is no message, and returns it as errors show it.
func (h *httpLink) skip(text []byte) string {
	shown := h.client.shown(text)
	if h.logged.Add(1) <= maxLogged {
		h.client.options.Logger.Warn("a server sent what is no message", "line", shown)
	}
	return shown
}

func (h *httpLink) notified(said mcp.JSONRPCNotification) {
	if params, err := json.Marshal(said.Params.AdditionalFields); err == nil {
		h.client.notified(said.Method, params)
	}
}

// requested answers a request of the server.
func (h *httpLink) requested(_ context.Context, asked transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	params, err := json.Marshal(asked.Params)
	if err != nil {
		return nil, err
	}
	said := h.client.answer(&jsonrpc.Message{Method: asked.Method, Params: params})
	answer := &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: asked.ID}
	if said.Error != nil {
		answer.Error = &mcp.JSONRPCErrorDetails{Code: said.Error.Code, Message: said.Error.Message, Data: said.Error.Data}
		return answer, nil
	}
	answer.Result, err = json.Marshal(said.Result)
	return answer, err
}
