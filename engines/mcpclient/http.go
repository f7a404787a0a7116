package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/eventstream"
	"savant/internal/httpclient"
	"savant/internal/jsonrpc"
)

const (
	// lastGrace bounds how long sending a cancellation or the end of a session may take.
	lastGrace = 2 * time.Second
	// listenPause is how long a client waits before it opens the stream for the server's own
	// messages again.
	listenPause = time.Second

	headerSession = "Mcp-Session-Id"
	headerLastID  = "Last-Event-ID"
	typeEvents    = "text/event-stream"
)

// ConnectHTTP connects to a server over Streamable HTTP (revision 2025-03-26 and
// later). If the server offers a stream for its own messages, the client listens to it.
// headers are sent with every request, and only to this origin: a redirect to another
// origin is refused. Errors contain not the address, and of the
// server's text only the beginning of what is no message, without what Hidden hides. ctx
// bounds the initialization only.
func ConnectHTTP(ctx context.Context, address string, headers map[string]string, options Options) (*Client, error) {
	if parsed, err := url.Parse(address); err != nil || parsed.Host == "" {
		return nil, fault.New(fault.InvalidParams, "url: expected an address")
	}
	c := newClient(ctx, options)
	base := http.DefaultTransport.(*http.Transport).Clone()
	h := &httpLink{client: c, address: address, headers: headers, base: base,
		sender: &http.Client{Transport: base, CheckRedirect: httpclient.SameOrigin}}
	c.link = h
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return c, nil
}

// httpLink is a server reached over HTTP.
type httpLink struct {
	client  *Client
	address string
	headers map[string]string
	base    *http.Transport
	sender  *http.Client
	asked   atomic.Int64
	// version and session are agreed on by initialize.
	version, session atomic.Pointer[string]
	// background counts what is sent beside the requests, and the stream that is listened to.
	// closing is held while the connection ends: nothing begins after it.
	background sync.WaitGroup
	closing    sync.Mutex
}

// startWork runs work that close waits for, unless the connection has ended.
func (h *httpLink) startWork(work func()) {
	h.closing.Lock()
	defer h.closing.Unlock()
	if h.client.life.Err() == nil {
		h.background.Go(work)
	}
}

func (h *httpLink) ended() <-chan struct{} { return h.client.life.Done() }

func (h *httpLink) agree(version string) {
	h.version.Store(&version)
	if !mcp.IsModernProtocol(version) { // later revisions have no such stream
		h.startWork(h.listen)
	}
}

func (h *httpLink) modern() bool {
	version := h.version.Load()
	return version != nil && mcp.IsModernProtocol(*version)
}

// close aborts running requests and ends the session, if the server still answers.
func (h *httpLink) close() error {
	h.closing.Lock()
	h.client.end()
	h.closing.Unlock()
	h.background.Wait()
	if h.session.Load() != nil && !h.modern() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.client.life), lastGrace)
		defer cancel()
		if response, err := h.send(ctx, http.MethodDelete, nil, nil); err == nil {
			_ = response.Body.Close()
		}
	}
	h.base.CloseIdleConnections()
	return nil
}

// send sends an HTTP request. The body of the response is bounded.
func (h *httpLink) send(ctx context.Context, method string, body []byte, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", typeEvents)
	if method == http.MethodPost {
		request.Header.Set("Accept", "application/json, "+typeEvents)
		request.Header.Set("Content-Type", "application/json")
	}
	if session := h.session.Load(); session != nil && !h.modern() {
		request.Header.Set(headerSession, *session)
	}
	if version := h.version.Load(); version != nil {
		request.Header.Set(mcp.HeaderProtocolVersion, *version)
	}
	maps.Copy(request.Header, header)
	for name, value := range h.headers {
		request.Header.Set(name, value)
	}
	response, err := h.sender.Do(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, int64(h.client.options.MaxLine))
	}
	return response, err
}

// post sends a message, with the headers that revision 2026-07-28 uses to route it. The
// connection's end cancels it.
func (h *httpLink) post(ctx context.Context, method string, message any) (*http.Response, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the message does not marshal: %w", err)
	}
	header := http.Header{}
	if h.modern() {
		var sent struct{ Params json.RawMessage }
		_ = json.Unmarshal(body, &sent) // it has just been marshalled
		for name, value := range mcp.StandardHeaders(*h.version.Load(), mcp.MCPMethod(method), sent.Params) {
			header.Set(name, value)
		}
	}
	return h.send(ctx, http.MethodPost, body, header)
}

// withConnection returns a context that also ends with the connection.
func (h *httpLink) withConnection(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.client.life, cancel)
	if h.client.life.Err() != nil {
		cancel() // now: AfterFunc does it some time later, when the request is sent
	}
	return ctx, func() { stop(); cancel() }
}

func (h *httpLink) ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error) {
	x := &exchange{link: h, method: method, id: strconv.AppendInt(nil, h.asked.Add(1), 10)}
	answer, err := x.run(ctx, params)
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, fault.New(fault.ToolFailed, "the server's answer to %s has more than %d bytes and was not read", method, h.client.options.MaxLine)
	case ctx.Err() != nil:
		h.tellCancelled(x.id)
		if x.skipped != "" {
			return nil, fault.New(fault.EngineOffline, "%w", &SkippedLineError{x.skipped, unanswered(ctx, method)})
		}
		return nil, unanswered(ctx, method)
	case x.skipped != "":
		return nil, fault.New(fault.EngineOffline, "the server answered %s with something that is no MCP message: %q", method, x.skipped).OutcomeUnknown()
	}
	return nil, h.failure(method, err)
}

// tellCancelled sends the cancellation of a request to the server in the background, if
// the revision has cancellations.
func (h *httpLink) tellCancelled(id json.RawMessage) {
	if h.modern() {
		return
	}
	h.startWork(func() {
		ctx, cancel := context.WithTimeout(h.client.life, lastGrace)
		defer cancel()
		_ = h.notify(ctx, cancellation(id))
	})
}

func (h *httpLink) notify(ctx context.Context, notification jsonrpc.Notification) error {
	ctx, end := h.withConnection(ctx)
	defer end()
	response, err := h.post(ctx, notification.Method, notification)
	if err != nil {
		return h.failure(notification.Method, err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		return h.failure(notification.Method, refusal(response, notification.Method, nil))
	}
	return nil
}

func (h *httpLink) respond(answer *jsonrpc.Reply) {
	if response, err := h.post(h.client.life, "", answer); err == nil {
		_ = response.Body.Close()
	}
}

// listen reads the server's own messages until the connection ends, the server has no such
// stream, or its stream has no events.
func (h *httpLink) listen() {
	for pause := time.Duration(0); sleep(h.client.life, pause); pause = listenPause {
		response, err := h.send(h.client.life, http.MethodGet, nil, nil)
		if err != nil {
			continue
		}
		if response.StatusCode != http.StatusOK || mediaTypeOf(response) != typeEvents {
			_ = response.Body.Close()
			return
		}
		events := eventstream.NewReader(response.Body)
		for err == nil {
			var next eventstream.Event
			if next, err = events.Next(); len(next.Text) > 0 {
				h.heard(next.Text)
			}
		}
		_ = response.Body.Close()
		if errors.Is(err, eventstream.ErrQuiet) {
			return
		}
	}
}

// heard routes what an event of the server's own stream holds.
func (h *httpLink) heard(text []byte) {
	found, skipped := foundIn(text)
	for _, m := range found {
		h.client.route(m)
	}
	if len(skipped) > 0 {
		h.client.skip(skipped, h.client.printable(skipped))
	}
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return ctx.Err() == nil
	}
}

// statusError is an HTTP status that carries no JSON-RPC message.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", int(s), http.StatusText(int(s)))
}

// formatError is an answer in another format than the protocol's.
type formatError string

func (f formatError) Error() string { return string(f) }

// failure returns a coded error. It contains neither the address nor text of the
// server, since both may hold secrets.
func (h *httpLink) failure(method string, err error) error {
	var status statusError
	var format formatError
	var coded *fault.Error
	switch {
	case errors.As(err, &coded):
		return err
	case h.client.life.Err() != nil:
		return fault.New(fault.EngineOffline, "the connection was closed before %s was answered", method).OutcomeUnknown()
	case errors.Is(err, ErrSessionOver):
		return fault.New(fault.EngineOffline, "%w", ErrSessionOver)
	case errors.Is(err, errNotLegacy):
		return fault.New(fault.EngineOffline, "nothing at this address speaks Streamable HTTP: %w", errNotLegacy)
	case errors.As(err, &status) && status == http.StatusUnauthorized:
		return fault.New(fault.EngineOffline, "the server asks for authorization (HTTP 401): give it a header Authorization")
	case errors.As(err, &status) && status < 500: // the server refused this request only
		return fault.New(fault.ToolFailed, "the server answered %s with %w", method, status)
	case errors.As(err, &status):
		return fault.New(fault.EngineOffline, "the server answered %s with %w", method, status).OutcomeUnknown()
	case errors.As(err, &format):
		return fault.New(fault.EngineOffline, "the server answered %s with %w", method, format).OutcomeUnknown()
	case errors.Is(err, httpclient.ErrRedirected):
		return fault.New(fault.EngineOffline, "the server redirects to another address; Savant does not follow it, because the headers are for this address only")
	}
	unreachable := fault.New(fault.EngineOffline, "the server cannot be reached, or its answer to %s is not valid MCP", method)
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return unreachable // nothing was sent
	}
	return unreachable.OutcomeUnknown()
}
