package mcpio

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// connection is one client that is served.
type connection struct {
	server *Server
	lines  *jsonrpc.Writer
	// stop ends the connection with the error to report.
	stop context.CancelCauseFunc
	// work counts the requests that were read and are not answered.
	work    sync.WaitGroup
	queue   queue
	control chan struct{}
	// reading is held while a line is handled.
	reading sync.Mutex
	// gone is closed when nothing more is read from the client.
	gone chan struct{}

	running       running
	questions     jsonrpc.Pending
	suspended     suspendedCalls
	subscriptions subscriptions
	// peer is what initialize told of the client, and subscribed says that it
	// was told of changes since. Only the reading goroutine touches them.
	peer       session
	subscribed bool
}

func (s *Server) newConnection(out io.Writer, stop context.CancelCauseFunc) *connection {
	c := &connection{
		server:  s,
		stop:    stop,
		queue:   queue{maxBytes: 2 * s.options.MaxLine, last: map[string]chan struct{}{}},
		control: make(chan struct{}, maxControl),
		gone:    make(chan struct{}),
	}
	c.lines = jsonrpc.NewWriter(out, c.unwritten)
	return c
}

// request is one request and what is known of who sent it.
type request struct {
	*jsonrpc.Message
	source
	params     params
	connection *connection
	session    *session // a copy for this request
	received   time.Time
	// failure, when set, replaces the error that mcp-go would report, which has
	// no code of package fault.
	failure *jsonrpc.Error
}

// source is the client that a message came from.
type source struct {
	// peer is what initialize told of the client.
	peer session
	// scope tells the ids of its requests from those of other clients.
	scope string
	// send takes what is sent to the client before the reply.
	send deliver
	// mute says that the client's user must not be asked.
	mute bool
	// gone is closed when the client cannot answer a question any more.
	gone <-chan struct{}
	// initialized, when set, is told of a client that initialized, which the
	// connection then does not remember.
	initialized func(*session)
}

// stream is the one client of stdio.
func (c *connection) stream() source {
	return source{peer: c.peer, send: c.lines.Write, gone: c.gone}
}

func (c *connection) newRequest(m *jsonrpc.Message, given params, from source) *request {
	peer := from.peer
	return &request{Message: m, source: from, params: given, connection: c, session: &peer, received: time.Now()}
}

// canAsk says whether the client's user may be asked, and the client can do it.
func (r *request) canAsk() bool { return !r.mute && r.session.canElicit() }

// soon runs work on a goroutine. The reading goroutine waits only when far too
// many replies are not yet written, and never beyond the end of ctx.
func (c *connection) soon(ctx context.Context, work func()) {
	select {
	case c.control <- struct{}{}:
	case <-ctx.Done():
		return
	}
	c.work.Go(func() {
		defer func() { <-c.control }()
		work()
	})
}

// answerSoon delivers a reply without blocking the reading goroutine.
func (c *connection) answerSoon(ctx context.Context, to deliver, answer any) {
	c.soon(ctx, func() { _ = to(answer) })
}

// replyTo delivers the reply to a request; one that the client cancelled gets
// none, and one that does not marshal is INTERNAL.
func replyTo(ctx context.Context, to deliver, answer *jsonrpc.Reply) {
	if errors.Is(context.Cause(ctx), ErrCancelledByClient) {
		_ = to(nil)
		return
	}
	if errors.Is(to(answer), jsonrpc.ErrEncoding) {
		_ = to(internalReply(answer.ID)) // any other failure has stopped the connection
	}
}

// unwritten is told of each message that could not be written. A client that
// cannot be written to is gone: then the connection stops.
func (c *connection) unwritten(err error) {
	switch {
	case errors.Is(err, jsonrpc.ErrEncoding):
		c.server.logger.Error("a message is not written", "error", err)
	case !errors.Is(err, jsonrpc.ErrClosed):
		c.stop(fault.New(fault.EngineOffline, "writing to the client: %w", err))
	}
}
