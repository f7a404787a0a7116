package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/eventstream"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// exchange is one request over HTTP and the reading of its answer, which may come in a
// stream of events.
type exchange struct {
	link   *httpLink
	method string
	id     json.RawMessage
	// skipped is the last part of the answer that is no message, as errors show it.
	skipped string
	// silence ends the request where a message does not go on.
	silence *time.Timer
}

// errUnfinished ends a stream without the answer.
const errUnfinished = formatError("a stream that ended before the answer")

// run sends the request and returns the answer.
func (x *exchange) run(ctx context.Context, params map[string]any) (*jsonrpc.Message, error) {
	ctx, end := x.link.withConnection(ctx)
	defer end()
	request := jsonrpc.Request{JSONRPC: jsonrpc.Version, ID: x.id, Method: x.method}
	if params != nil {
		request.Params = params
	}
	response, err := x.link.post(ctx, x.method, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	x.silence = time.AfterFunc(maxSilent, end)
	defer x.silence.Stop()
	x.silence.Stop() // before a message, a server may be silent
	response.Body = &watchedBody{response.Body, x.silence, mediaTypeOf(response) == typeEvents}
	if response.StatusCode >= http.StatusMultipleChoices {
		why := explanation(response)
		if err := refusal(response, x.method, why); err != nil {
			return nil, err
		}
		return x.checked(why)
	}
	if session := response.Header.Get(headerSession); x.method == string(mcp.MethodInitialize) && session != "" {
		x.link.session.Store(&session)
	}
	if mediaTypeOf(response) == typeEvents {
		return x.follow(ctx, response.Body)
	}
	return x.whole(ctx, response)
}

// watchedBody is the body of an answer. A server that is silent before the end of a message has
// cut it: the timer ends the request.
type watchedBody struct {
	io.ReadCloser
	silence *time.Timer
	events  bool
}

// eventEnd matches the end of an event or of a comment, and lines without data.
var eventEnd = pattern.Lazy(`(?:^|\n)(?::.*)?\n$|^(?:(?:event|id|retry):.*\n)+$`)

// maxEnd is how many bytes of what was read are examined.
const maxEnd = 1 << 10

func (w *watchedBody) Read(into []byte) (int, error) {
	n, err := w.ReadCloser.Read(into)
	text := into[max(0, n-maxEnd):n] // its end says enough
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	switch {
	case err != nil, w.events && eventEnd().Match(text):
		w.silence.Stop()
	case len(bytes.TrimSpace(text)) > 0: // spaces keep a connection open
		w.silence.Reset(maxSilent)
	}
	return n, err
}

// whole reads an answer that is no stream of events. A server may call it text, begin it with
// a byte order mark or other text, write NaN, or send a batch. Another answer is a formatError.
func (x *exchange) whole(ctx context.Context, response *http.Response) (*jsonrpc.Message, error) {
	body, failed := io.ReadAll(&plainText{output: response.Body})
	text := bytes.TrimSpace(bytes.TrimPrefix(body, jsonrpc.ByteOrderMark))
	kind := mediaTypeOf(response)
	if len(text) == 0 {
		if failed != nil {
			return nil, failed
		}
		return nil, formatError(fmt.Sprintf("HTTP %d and no message", response.StatusCode))
	}
	found, _ := foundIn(text)
	if answer := x.take(found); answer != nil {
		return x.checked(answer)
	}
	if bytes.Contains(append([]byte{'\n'}, text[:min(len(text), maxEcho)]...), []byte("\ndata:")) {
		return x.follow(ctx, io.NopCloser(bytes.NewReader(body)))
	}
	if kind == "application/json" || kind == "text/plain" || kind == "" {
		x.skipped = x.link.client.printable(text)
		x.link.client.skip(text, x.skipped)
	}
	if failed != nil {
		return nil, failed
	}
	return nil, formatError("a body that is not valid MCP: " + cmp.Or(mediaTypes().FindString(kind), "no known type") + ", without an answer to the request")
}

// mediaTypes matches the types that an error names: other text of a server may be secret.
var mediaTypes = pattern.Lazy(`^(?:text|application|image|multipart)/[a-z.+-]{1,40}$`)

func mediaTypeOf(response *http.Response) string {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind
}

// maxResumed bounds how often a stream without an event is asked for again.
const maxResumed = 3

// follow reads a stream of events until the answer. A stream that ends before is asked for
// again from its last event on, if its events have ids.
func (x *exchange) follow(ctx context.Context, body io.ReadCloser) (*jsonrpc.Message, error) {
	last, pause := "", listenPause
	defer func() { _ = body.Close() }()
	for tries := 0; ; tries++ {
		events := eventstream.NewReader(body)
		for {
			next, err := events.Next()
			if answer, broken := x.heard(next.Text); answer != nil || broken != nil {
				return answer, broken
			}
			if err != nil {
				_ = body.Close()
				switch {
				case ctx.Err() != nil, errors.As(err, new(*http.MaxBytesError)):
					return nil, err
				case last == "":
					return nil, errUnfinished
				}
				break
			}
			if next.ID != "" {
				last, tries = next.ID, 0
			}
			if next.Retry > 0 {
				pause = next.Retry
			}
		}
		resumed, err := x.resume(ctx, last, pause, tries)
		if err != nil {
			return nil, err
		}
		body = resumed
	}
}

// resume asks for the events after one.
func (x *exchange) resume(ctx context.Context, last string, pause time.Duration, tries int) (io.ReadCloser, error) {
	for ; tries < maxResumed && sleep(ctx, pause); tries++ {
		response, err := x.link.send(ctx, http.MethodGet, nil, http.Header{headerLastID: {last}})
		if err != nil {
			continue
		}
		if response.StatusCode == http.StatusOK && mediaTypeOf(response) == typeEvents {
			return &watchedBody{response.Body, x.silence, true}, nil
		}
		_ = response.Body.Close()
		break
	}
	return nil, errUnfinished
}

// errBroken ends a stream with a message that cannot be read.
var errBroken = errors.New("an event of the stream is not JSON")

// heard takes the messages in an event, and returns the answer if it is one of them. The first
// answer is taken, whatever its id: another is an error.
func (x *exchange) heard(text []byte) (*jsonrpc.Message, error) {
	if len(text) == 0 {
		return nil, nil
	}
	found, skipped := foundIn(text)
	if answer := x.take(found); answer != nil {
		return x.checked(answer)
	}
	if len(skipped) > 0 {
		x.skipped = x.link.client.printable(skipped)
		if x.link.client.skip(skipped, x.skipped) {
			return nil, errBroken
		}
	}
	return nil, nil
}

// foundIn returns the messages in a text, and the part that is no message. An answer that
// names neither a request nor an error is no message.
func foundIn(text []byte) (found []*jsonrpc.Message, skipped []byte) {
	if found, skipped = messagesIn(text); found == nil {
		found, skipped = behindText(text)
	}
	for _, m := range found {
		if m.IsResponse() && m.ID == nil && m.Error == nil {
			return nil, text
		}
	}
	return found, skipped
}

// take routes messages, and returns the answer among them: that of the request, else the
// first.
func (x *exchange) take(found []*jsonrpc.Message) (answer *jsonrpc.Message) {
	for _, m := range found {
		switch {
		case !m.IsResponse():
			x.link.client.route(m)
		case answer == nil || x.answeredBy(m):
			answer = m
		}
	}
	return answer
}

func (x *exchange) answeredBy(m *jsonrpc.Message) bool {
	return jsonrpc.KeyOf(m.ID) == jsonrpc.KeyOf(x.id)
}

// checked refuses the result of another request. An error has any id, if the server did not
// read the request.
func (x *exchange) checked(m *jsonrpc.Message) (*jsonrpc.Message, error) {
	if m.Error == nil && !x.answeredBy(m) {
		return nil, fault.New(fault.ToolFailed, "the server was asked %s, and it answered another request", x.method)
	}
	return m, nil
}

// explanation returns the message with a JSON-RPC error in the body of a failure; nil if the
// body has no such message.
func explanation(response *http.Response) *jsonrpc.Message {
	if mediaTypeOf(response) != "application/json" {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil
	}
	m, err := jsonrpc.Read(bytes.TrimSpace(body))
	if err != nil || jsonvalue.TextMember(m.Raw, "jsonrpc") != jsonrpc.Version || m.Error == nil {
		return nil
	}
	return m
}

// refusal is the error of a failure; nil where why, its explanation, is the answer. The
// protocol's status for a lost session is 404, and the example servers of several SDKs say 400;
// where initialize gets one of 4xx with an explanation, or the address has no such method, the
// server speaks another revision or transport.
func refusal(response *http.Response, method string, why *jsonrpc.Message) error {
	code := response.StatusCode
	absent := code == http.StatusNotFound || code == http.StatusMethodNotAllowed
	lost := code == http.StatusNotFound
	if why != nil {
		lost = (lost || code == http.StatusBadRequest) && strings.Contains(strings.ToLower(rpcError(why.Error).Error()), "session")
	}
	switch {
	case method == string(mcp.MethodInitialize) && (absent || why != nil && code < 500):
		return errNotLegacy
	case lost && response.Request.Header.Get(headerSession) != "":
		return ErrSessionOver
	case why == nil:
		return statusError(code)
	}
	return nil
}
