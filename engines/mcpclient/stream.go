package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/pattern"
)

// closeGrace is how long Close waits for the server to end its output.
const closeGrace = 5 * time.Second

// maxReplies is how many answers to its requests a server may leave unread.
const maxReplies = 1000

// streamLink is a server behind a pair of streams, with one message per line.
type streamLink struct {
	client  *Client
	lines   *jsonrpc.Writer
	input   io.Closer
	waiting jsonrpc.Pending
	// replies counts the answers being computed or written.
	replies atomic.Int64
	// lost is closed when what may have been a reply could not be read: one of the waiting
	// calls has lost its own.
	lost atomic.Pointer[loss]
	// skipped is the last line that was no message; logged counts those in the log.
	skipped atomic.Pointer[string]
	logged  int
}

// maxLogged is how many lines of a server that are no message are logged.
const maxLogged = 60

// loss tells the waiting calls that a reply could not be read.
type loss struct {
	happened chan struct{}
	err      error // set before happened is closed
}

func newLoss() *loss { return &loss{happened: make(chan struct{})} }

// openStream starts reading the server's output.
func openStream(c *Client, stdin io.WriteCloser, stdout io.Reader) *streamLink {
	s := &streamLink{client: c, lines: jsonrpc.NewWriter(stdin, nil), input: stdin}
	s.lost.Store(newLoss())
	go s.receive(jsonrpc.NewReader(&plainText{output: stdout}, c.options.MaxLine))
	return s
}

func (s *streamLink) ended() <-chan struct{} { return s.client.life.Done() }

func (s *streamLink) agree(string) {}

// close closes the server's input and waits until it has ended its output.
func (s *streamLink) close() error {
	err := s.input.Close()
	patience := time.NewTimer(closeGrace)
	defer patience.Stop()
	select {
	case <-s.ended():
		return err
	case <-patience.C:
		return fault.New(fault.EngineOffline, "the server did not end within %s after its input closed", closeGrace)
	}
}

// receive routes the server's messages until its output ends. Other lines are logged:
// servers print to their output by mistake.
func (s *streamLink) receive(in *jsonrpc.Reader) {
	defer s.client.end()
	lines := messageLines{limit: s.client.options.MaxLine}
	for {
		data, err := in.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrLineTooLong):
			s.lose(fault.New(fault.ToolFailed, "the server sent a message of more than %d bytes, which was not read", s.client.options.MaxLine))
			continue
		case err != nil:
			s.skip(lines.held)
			return
		}
		found, skipped := lines.take(data)
		s.skip(skipped)
		for _, m := range found {
			s.route(m)
		}
	}
}

// lose ends the waiting calls with an error.
func (s *streamLink) lose(err error) {
	lost := s.lost.Swap(newLoss())
	lost.err = err
	close(lost.happened)
}

// skip reports what is no message. If it was meant as one, the waiting calls end.
func (s *streamLink) skip(text []byte) {
	if text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte{0}, nil)); len(text) == 0 {
		return
	}
	shown := s.client.printable(text)
	s.skipped.Store(&shown)
	if !meantAsMessage(text) {
		if s.logged++; s.logged <= maxLogged {
			s.client.options.Logger.Info("a server printed a line that is no message", "line", shown)
		}
		return
	}
	s.client.options.Logger.Warn("a server sent a message that is not JSON", "line", shown)
	s.lose(fault.New(fault.ToolFailed, "the server sent a message that is not JSON: %q", shown))
}

// meantAsMessage reports whether what is no message was meant as one, perhaps as another
// language prints it ({'jsonrpc': '2.0'}, map[jsonrpc:2.0]) or as a language server frames it.
func meantAsMessage(text []byte) bool { return otherMessage().Match(text) }

var otherMessage = pattern.Lazy(`(?s)^\W{0,3}(?:[\w.]*[\[{(].*?\b)?jsonrpc["']?\s*[:=]+>?\s*["']?\d|^Content-Length:\s*\d`)

func (s *streamLink) route(m *jsonrpc.Message) {
	switch {
	case m.IsResponse():
		if !s.waiting.Deliver(m) && m.Error != nil && (m.ID == nil || string(m.ID) == "null") { // it could not read a request
			s.lose(decodeReply(m, nil))
		}
	case m.IsNotification():
		s.client.notified(m.Method, m.Params)
	default:
		s.reply(m)
	}
}

// reply answers a request of the server, unless too many answers are unread.
func (s *streamLink) reply(asked *jsonrpc.Message) {
	if s.replies.Add(1) > maxReplies {
		s.replies.Add(-1)
		return
	}
	go func() {
		defer s.replies.Add(-1)
		// If the server is gone, the calls fail through life, so this error is not
		// needed.
		_ = s.write(s.client.answer(asked))
	}()
}

func (s *streamLink) write(value any) error {
	err := s.lines.Write(value)
	switch {
	case errors.Is(err, jsonrpc.ErrEncoding):
		return fault.New(fault.InvalidParams, "%w", err)
	case err != nil:
		return fault.New(fault.EngineOffline, "the server no longer reads: %w", err)
	}
	return nil
}

// send writes a message on its own goroutine, so that a server that does not read
// cannot block the caller beyond the call's timeout.
func (s *streamLink) send(value any) <-chan error {
	sent := make(chan error, 1)
	go func() { sent <- s.write(value) }()
	return sent
}

func (s *streamLink) notify(ctx context.Context, method string, params map[string]any) error {
	var given any // nil, not an empty map
	if params != nil {
		given = params
	}
	select {
	case err := <-s.send(jsonrpc.Notify(method, given)):
		return err
	case <-ctx.Done():
		return s.unanswered(ctx, method)
	}
}

func (s *streamLink) ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error) {
	id, answer := s.waiting.Open()
	defer s.waiting.Forget(id)
	asked := jsonrpc.Request{JSONRPC: jsonrpc.Version, ID: id, Method: method}
	if params != nil {
		asked.Params = params
	}
	lost := s.lost.Load()
	sent := s.send(asked)
	for {
		select {
		case err := <-sent:
			if err != nil {
				return nil, err
			}
			sent = nil
		case m := <-answer:
			return m, nil
		case <-s.ended():
			return s.last(answer, method)
		case <-lost.happened:
			return nil, lost.err
		case <-ctx.Done():
			s.send(jsonrpc.Notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id}))
			return nil, s.unanswered(ctx, method)
		}
	}
}

// SkippedLineError is the end of a wait for an answer, after the server printed a line that is
// no message.
type SkippedLineError struct {
	Line  string
	cause error
}

func (s *SkippedLineError) Error() string {
	return fmt.Sprintf("%v; the server printed a line that is no message: %q", s.cause, s.Line)
}

// Unwrap returns what ended the wait.
func (s *SkippedLineError) Unwrap() error { return s.cause }

// unanswered names the last line that was no message, which may have been the answer.
func (s *streamLink) unanswered(ctx context.Context, method string) error {
	if skipped := s.skipped.Load(); skipped != nil {
		return fault.New(fault.EngineOffline, "%s was not answered: %w", method, &SkippedLineError{*skipped, context.Cause(ctx)})
	}
	return unanswered(ctx, method)
}

// last returns the answer if it was the last line of the server's output.
func (s *streamLink) last(answer <-chan *jsonrpc.Message, method string) (*jsonrpc.Message, error) {
	select {
	case m := <-answer:
		return m, nil
	default:
		return nil, fault.New(fault.EngineOffline, "the server ended before it answered %s", method)
	}
}

func unanswered(ctx context.Context, method string) error {
	return fault.New(fault.EngineOffline, "%s was not answered: %w", method, context.Cause(ctx))
}
