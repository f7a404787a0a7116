package mcpclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// closeGrace is how long Close waits for the server to end its output.
const closeGrace = 5 * time.Second

// streamLink is a server behind a pair of streams, with one message per line.
type streamLink struct {
	client  *Client
	lines   *jsonrpc.Writer
	input   io.Closer
	waiting jsonrpc.Pending
	// lost is closed when what may have been a reply could not be read: one of the waiting
	// calls has lost its own.
	lost    atomic.Pointer[loss]
	skipped atomic.Pointer[string] // the last line that was no message
	// notified: a notification was sent.
	notified atomic.Bool
}

// loss tells the waiting calls that a reply could not be read.
type loss struct {
	happened chan struct{}
	err      error // set before happened is closed
}

func newLoss() *loss { return &loss{happened: make(chan struct{})} }

// openStream makes the link of a client and starts reading the server's output.
func openStream(c *Client, stdin io.WriteCloser, stdout io.Reader) {
	s := &streamLink{client: c, lines: jsonrpc.NewWriter(stdin, nil), input: stdin}
	s.lost.Store(newLoss())
	c.link = s
	go s.receive(jsonrpc.NewReader(newPauses(&plainText{output: stdout}), c.options.MaxLine))
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
	var pausedIn *string
	for {
		data, err := in.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrLineTooLong):
			s.lose(fault.New(fault.ToolFailed, "the server sent a message of more than %d bytes, which was not read", s.client.options.MaxLine))
			continue
		case errors.Is(err, errPaused), errors.Is(err, errSilent):
			found, part := lines.unended(data)
			switch {
			case found != nil:
				in.Drop()
				s.route(found)
			case len(part) == 0:
			case errors.Is(err, errPaused):
				shown := s.client.printable(part)
				s.skipped.Store(&shown)
				pausedIn = &shown
			case begins(part) || meantAsMessage(part):
				s.lose(fault.New(fault.EngineOffline, "the server began a message and was silent for %s; the message begins: %q", maxSilent, *pausedIn).OutcomeUnknown())
			}
			continue
		case err != nil:
			s.skip(append(lines.held, data...))
			return
		}
		found, skipped := lines.take(data)
		if found != nil && pausedIn != nil { // it went on
			s.skipped.CompareAndSwap(pausedIn, nil)
		}
		if lines.held == nil {
			pausedIn = nil
		}
		s.skip(skipped)
		s.route(found)
	}
}

// lose ends the waiting calls with an error. Of several it is not known which one it is about.
func (s *streamLink) lose(err error) {
	if s.waiting.Several() {
		err = fault.From(err).OutcomeUnknown()
	}
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
	if s.client.skip(text, shown) {
		s.lose(fault.New(fault.ToolFailed, "the server sent a message that is not JSON: %q", shown))
	}
}

// meantAsMessage reports whether what is no message was meant as one, perhaps as another
// language prints it ({'jsonrpc': '2.0'}, map[jsonrpc:2.0]), as a language server frames it, or
// in base64.
func meantAsMessage(text []byte) bool {
	plain, _ := base64.StdEncoding.AppendDecode(nil, text)
	return otherMessage().Match(text) || otherMessage().Match(plain)
}

var otherMessage = pattern.Lazy(`(?s)^\W{0,3}(?:[\w.]*[\[{(].*?\b)?jsonrpc["']?\s*[:=]+>?\s*["']?\d|^Content-Length:\s*\d`)

// route takes the messages of the server. An answer to no request may be that of a waiting
// call, which ends, unless it may be one to a notification: some servers answer those.
func (s *streamLink) route(found []*jsonrpc.Message) {
	for _, m := range found {
		switch {
		case !m.IsResponse():
			s.client.route(m)
		case s.waiting.Deliver("", m), s.waiting.Asked(m.ID), m.Result == nil && m.Error == nil:
		case s.notified.Load() && answersNotification(m):
		case m.Error != nil: // it could not read a request
			s.lose(decodeReply(m, nil))
		default:
			s.lose(fault.New(fault.ToolFailed, "the server sent an answer that names no request of Savant: %q", s.client.printable(m.Raw)).OutcomeUnknown())
		}
	}
}

// answersNotification tells an answer to a notification: it names no request, and either says
// that there is no such method, or has a result without members.
func answersNotification(m *jsonrpc.Message) bool {
	switch {
	case m.ID != nil && string(m.ID) != "null":
		return false
	case m.Error != nil:
		return plain(jsonvalue.Member(m.Error, "code")) == strconv.Itoa(jsonrpc.MethodNotFound)
	}
	return !bytes.Contains(m.Result, []byte(":"))
}

func (s *streamLink) startWork(work func()) { go work() }

// respond writes an answer. If the server is gone, the calls fail through life, so this error
// is not needed.
func (s *streamLink) respond(answer *jsonrpc.Reply) { _ = s.write(answer) }

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

func (s *streamLink) notify(ctx context.Context, notification jsonrpc.Notification) error {
	s.notified.Store(true)
	select {
	case err := <-s.send(notification):
		return err
	case <-ctx.Done():
		return unanswered(ctx, notification.Method)
	}
}

func (s *streamLink) ask(ctx context.Context, method string, params map[string]any) (*jsonrpc.Message, error) {
	id, answer := s.waiting.Open("")
	defer s.waiting.Forget(id)
	request := jsonrpc.Request{JSONRPC: jsonrpc.Version, ID: id, Method: method}
	if params != nil {
		request.Params = params
	}
	lost, skipped := s.lost.Load(), s.skipped.Load()
	sent := s.send(request)
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
			return answerOr(answer, s.naming(skipped, fault.New(fault.EngineOffline, "the server ended before it answered %s", method)))
		case <-lost.happened:
			return answerOr(answer, lost.err)
		case <-ctx.Done():
			s.send(cancellation(id))
			return nil, s.naming(skipped, unanswered(ctx, method))
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
	return fmt.Sprintf("%s; the server printed a line that is no message: %q", fault.From(s.cause).Message(), s.Line)
}

// Unwrap returns what ended the wait.
func (s *SkippedLineError) Unwrap() error { return s.cause }

// naming returns the end of a wait with the last line since its beginning that was no message.
// That line may have been the answer, or it may say why no answer came.
func (s *streamLink) naming(before *string, end error) error {
	if skipped := s.skipped.Load(); skipped != before && skipped != nil {
		return fault.New(fault.EngineOffline, "%w", &SkippedLineError{*skipped, end})
	}
	return end
}

// answerOr returns the answer if it was read before the wait for it ended with err.
func answerOr(answer <-chan *jsonrpc.Message, err error) (*jsonrpc.Message, error) {
	select {
	case m := <-answer:
		return m, nil
	default:
		return nil, err
	}
}

func unanswered(ctx context.Context, method string) error {
	return fault.New(fault.EngineOffline, "%s was not answered: %w", method, context.Cause(ctx))
}
