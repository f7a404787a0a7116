package mcpclient

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client/transport"

	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// statusError is an HTTP status that carries no JSON-RPC message.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", int(s), http.StatusText(int(s)))
}

// guard adds the headers to every request, bounds the size of each response, and keeps
// the server's text outside of the protocol out of errors.
type guard struct {
	base    *http.Transport
	headers map[string]string
	limit   int64
	// mute: the stream for server messages sent much data but no event, so it is not
	// opened again.
	mute atomic.Bool
	// skip is given what is no message, and returns it as errors show it.
	skip func(text []byte) string
}

// skipped notes what is no message. It reports whether it was meant as one, so that no
// answer is to be waited for.
func (g *guard) skipped(answer *reading, text []byte) (broken bool) {
	shown := g.skip(text)
	if answer != nil {
		answer.skipped.Store(&shown)
	}
	return answer != nil && meantAsMessage(text)
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range g.headers { // mcp-go leaves them out of DELETE
		request.Header.Set(name, value)
	}
	listening := request.Method == http.MethodGet
	if listening && g.mute.Load() {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Status: "405", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: http.NoBody, Request: request}, nil
	}
	response, err := g.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if refusesToSpeak(request, response) {
		response.StatusCode = http.StatusMethodNotAllowed
		return response, nil
	}
	answer, _ := request.Context().Value(readingKey{}).(*reading)
	response.Body = bounded{http.MaxBytesReader(nil, response.Body, g.limit), answer}
	withEventLines(response, func() {
		if listening {
			g.mute.Store(true)
		}
	}, func(text []byte) bool { return g.skipped(answer, text) })
	if !refused(response) {
		if answer == nil { // the answer to a notification is not read
			return response, nil
		}
		if err := tidy(response, func(text []byte) { g.skipped(answer, text) }); err != nil {
			return nil, err
		}
		return response, nil
	}
	switch why, explained := explanation(response); {
	case !explained:
		_ = response.Body.Close() // the body is not used
		return nil, statusError(response.StatusCode)
	case sessionLost(request, response, why):
		response.StatusCode = http.StatusNotFound // the protocol's status for this
	}
	return response, nil
}

// formatError is an answer in another format than the protocol's.
type formatError string

func (f formatError) Error() string { return string(f) }

// tidy makes an answer of JSON one that mcp-go reads: a server may call it text, begin it
// with a byte order mark or other text, write NaN, or send a batch of one. Another answer is a
// formatError; skip is given what it begins with, unless it is a page for people.
func tidy(response *http.Response, skip func(text []byte)) error {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" && response.StatusCode == http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, jsonrpc.ByteOrderMark))
	if len(text) == 0 {
		return formatError(fmt.Sprintf("HTTP %d and no message", response.StatusCode))
	}
	if found := answersIn(text); found != nil {
		text, kind = found, "application/json"
	} else if bytes.Contains(append([]byte{'\n'}, text[:min(len(text), maxEcho)]...), []byte("\ndata:")) {
		text, kind = body, "text/event-stream"
	} else {
		return noMessage(kind, text, skip)
	}
	response.StatusCode = http.StatusOK
	response.Header.Set("Content-Type", kind)
	response.ContentLength = int64(len(text))
	response.Body = io.NopCloser(bytes.NewReader(text))
	if kind == "text/event-stream" {
		withEventLines(response, nil, func(text []byte) bool { skip(text); return false })
	}
	return nil
}

// noMessage is the error of an answer that has no message.
func noMessage(kind string, text []byte, skip func(text []byte)) error {
	if kind == "application/json" || kind == "text/plain" || kind == "" {
		skip(text)
	}
	return formatError("a body that is not what the protocol says: " + cmp.Or(mediaType().FindString(kind), "no known type") + ", without an answer to the request")
}

// mediaType matches the types that an error names: other text of a server may be secret.
var mediaType = pattern.Lazy(`^(?:text|application|image|multipart)/[a-z.+-]{1,40}$`)

// answersIn returns the only answer in a JSON text, which may be a batch; nil if there are
// none or several.
func answersIn(text []byte) (only []byte) {
	all := messagesIn(text)
	if all == nil {
		all, _ = behindText(text)
	}
	for _, m := range all {
		if !m.IsResponse() || m.ID == nil && m.Error == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = m.Raw
	}
	return only
}

// sessionLost reports whether a restarted server refuses an unknown session with 400, as
// the example servers of several SDKs do.
func sessionLost(request *http.Request, response *http.Response, why rpcError) bool {
	return response.StatusCode == http.StatusBadRequest && request.Header.Get(transport.HeaderKeySessionID) != "" &&
		strings.Contains(strings.ToLower(why.Message), "session")
}

// reading is what is noted while an answer is read: mcp-go does not return the read error of
// an event stream.
type reading struct {
	over    atomic.Bool            // it was too large
	skipped atomic.Pointer[string] // the last part that is no message
}

// readingKey is the context key of a reading.
type readingKey struct{}

// refused reports whether the status is a failure that the protocol gives no meaning
// (it does for 401, 404 and 405).
func refused(response *http.Response) bool {
	switch code := response.StatusCode; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed:
		return false
	default:
		return code >= 400
	}
}

// explanation returns the JSON-RPC error in the body of a failure. mcp-go accepts any
// JSON as an answer, and JSON without an error as a success.
func explanation(response *http.Response) (why rpcError, is bool) {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return why, false
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return why, false
	}
	said, err := jsonrpc.Read(body)
	is = err == nil && jsonvalue.TextMember(body, "jsonrpc") == jsonrpc.Version && said.Error != nil && decode(said.Error, &why) == nil
	return why, is
}

// refusesToSpeak reports whether a server has no stream for its own messages. The
// protocol uses 405 for that. After any other response except a stream, or 404 for an
// ended session, mcp-go would retry every second.
func refusesToSpeak(request *http.Request, response *http.Response) bool {
	if request.Method != http.MethodGet || request.Header.Get("Last-Event-ID") != "" || response.StatusCode == http.StatusNotFound {
		return false
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return response.StatusCode >= 400 || response.StatusCode < 300 && (err != nil || kind != "text/event-stream")
}

// bounded is the body of an http.MaxBytesReader that records whether the limit was
// exceeded.
type bounded struct {
	io.ReadCloser
	answer *reading // may be nil
}

func (b bounded) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.answer != nil && errors.As(err, new(*http.MaxBytesError)) {
		b.answer.over.Store(true)
	}
	return n, err
}
