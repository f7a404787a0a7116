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
	// keepAliveInterval is how long nothing may be written: what stands between closes
	// connections that are silent.
	keepAliveInterval = 15 * time.Second
	// writeTime is how long a client may take to read what is written at once.
	writeTime = 30 * time.Second
)

// answer is the response to a request: a JSON document, or a stream of events as soon
// as something is sent before the reply.
type answer struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	// stream says that the client takes a stream, modern that its revision has a status
	// for each kind of error.
	stream, modern bool

	mu        sync.Mutex
	streaming bool
	finished  bool
}

// send writes a message before the reply.
func (a *answer) send(message any) error {
	data, err := encoded(message)
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

func encoded(message any) (json.RawMessage, error) {
	var line bytes.Buffer
	if err := jsonrpc.NewWriter(&line, nil).Write(message); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(line.Bytes()), nil
}

// event writes one event; the mutex is held. JSON has no line ends once it is encoded.
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
	header.Set("X-Accel-Buffering", "no") // proxies pass events on at once
	a.writer.WriteHeader(http.StatusOK)
}

func (a *answer) write(data []byte) error {
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) // a writer of tests may not have it
	if _, err := a.writer.Write(data); err != nil {
		return err
	}
	return a.control.Flush()
}

// comment writes what is no event, so that nobody takes the stream for dead.
func (a *answer) comment() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.finished {
		return nil
	}
	a.begin()
	return a.write([]byte(":\n\n"))
}

// keepAlive writes a comment now and then until stop.
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
				_ = a.comment() // who left is noticed by whoever reads from them
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

// close lets nothing more be sent, and says whether something was.
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

// status is the status of a reply. Before revision 2026-07-28 an error of JSON-RPC is
// an answer like any other.
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

// The codes that the protocol reserves for requests it refuses.
const (
	firstOfProtocol = -32020
	lastOfProtocol  = -32099
)
