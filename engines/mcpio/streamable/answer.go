package streamable

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonrpc"
)

const (
	eventStream = "text/event-stream"
	// keepAliveInterval is the time between keep-alive comments: proxies close silent
	// connections.
	keepAliveInterval = 15 * time.Second
	// writeTime bounds how long a client may take to read one write.
	writeTime = 30 * time.Second
)

// answer is the response to a request: a JSON document, or an event stream once a
// message is sent before the reply.
type answer struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	// stream: the client accepts an event stream. modern: the revision maps errors to
	// HTTP statuses.
	stream, modern bool

	mu        sync.Mutex
	streaming bool
	finished  bool
}

// send writes a message before the reply.
func (a *answer) send(message any) error {
	data, err := jsonrpc.Encode(message)
	if err != nil || len(data) == 0 {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finished {
		return fault.New(fault.EngineOffline, "the request was answered already")
	}
	return a.event(data)
}

// event writes one event; the mutex is held. Encoded JSON contains no line breaks.
func (a *answer) event(data []byte) error {
	a.begin()
	return a.write(append(append([]byte("event: message\ndata: "), data...), "\n\n"...))
}

// begin makes the response a stream; the mutex is held.
func (a *answer) begin() {
	if a.streaming {
		return
	}
	a.streaming = true
	header := a.writer.Header()
	header.Set("Content-Type", eventStream)
	header.Set("X-Accel-Buffering", "no") // tells proxies not to buffer events
	a.writer.WriteHeader(http.StatusOK)
}

func (a *answer) write(data []byte) error {
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer may not support deadlines
	if _, err := a.writer.Write(data); err != nil {
		return err
	}
	return a.control.Flush()
}

// comment writes a comment, which keeps the connection open.
func (a *answer) comment() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finished {
		return nil
	}
	a.begin()
	return a.write([]byte(":\n\n"))
}

// keepAlive writes comments at an interval until stop is called.
func (a *answer) keepAlive(interval time.Duration) (stop func()) {
	if !a.stream {
		return func() {}
	}
	ticker, done := time.NewTicker(interval), make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ticker.C:
				_ = a.comment() // the reading side notices a client that has left
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-stopped
	}
}

// close ends sending and reports whether an event stream was begun.
func (a *answer) close() (streaming bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
	return a.streaming
}

// finish writes the reply, if there is one.
func (a *answer) finish(reply json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finished = true
	switch {
	case a.streaming && len(reply) > 0:
		_ = a.event(reply) // the client may be gone
	case a.streaming:
	case len(reply) == 0:
		a.writer.WriteHeader(http.StatusAccepted)
	default:
		a.writer.Header().Set("Content-Type", "application/json")
		a.writer.WriteHeader(a.status(reply))
		_ = a.write(append(reply, '\n')) // the client may be gone
	}
}

// status returns the HTTP status of a reply. Before revision 2026-07-28 a JSON-RPC
// error has the status of a success.
func (a *answer) status(reply json.RawMessage) int {
	var said struct {
		ID    json.RawMessage
		Error *struct{ Code int }
	}
	if !bytes.Contains(reply, []byte(`"error":`)) || json.Unmarshal(reply, &said) != nil || said.Error == nil {
		return http.StatusOK
	}
	switch code := said.Error.Code; {
	case code == jsonrpc.NotBegun:
		return http.StatusServiceUnavailable
	case string(said.ID) == string(jsonrpc.NoID):
		return http.StatusBadRequest
	case !a.modern:
		return http.StatusOK
	case code == jsonrpc.MethodNotFound:
		return http.StatusNotFound
	case code == jsonrpc.InvalidRequest, code == jsonrpc.InvalidParams, code == jsonrpc.ParseError, code <= firstOfProtocol && code >= lastOfProtocol:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// The JSON-RPC error codes that the protocol reserves for refused requests.
const (
	firstOfProtocol = -32020
	lastOfProtocol  = -32099
)
