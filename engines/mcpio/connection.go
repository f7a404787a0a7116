package mcpio

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
)

// connection is the connection to one client.
type connection struct {
	server *Server
	lines  *jsonrpc.Writer
	// stop ends the connection with the error for Serve to return.
	stop context.CancelCauseFunc
	// work counts the requests that are read but not answered.
	work    sync.WaitGroup
	queue   queue
	control chan struct{}
	// reading is held while a message is handled.
	reading sync.Mutex
	// gone is closed when nothing more is read from the client.
	gone chan struct{}

	running       running
	questions     jsonrpc.Pending
	suspended     suspendedCalls
	tasks         tasks
	subscriptions subscriptions
	// peer is what initialize said about the client; subscribed says that the client
	// has a subscription to changes. Only the reading goroutine uses them.
	peer       Peer
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

// request is one request and what is known about its sender.
type request struct {
	*jsonrpc.Message
	Exchange   // Peer is as this request has it
	params     params
	connection *connection
	received   time.Time
	// failure is the error to report, if there is one.
	failure *jsonrpc.Error
}

// stream is the single client of stdio.
func (c *connection) stream() Exchange {
	return Exchange{Peer: c.peer, Caller: engines.Identity{ID: "stdio", Name: "local"}, Send: c.lines.Write, Gone: c.gone}
}

func (c *connection) newRequest(m *jsonrpc.Message, given params, from Exchange) *request {
	return &request{Message: m, Exchange: from, params: given, connection: c, received: time.Now()}
}

// canAsk reports whether the client's user may be asked and the client can do so.
func (r *request) canAsk() bool { return !r.Mute && (r.Peer.Forms || r.Peer.Pages) }

// canShowApps reports whether the client shows the pages of Options.Apps to its user.
func (r *request) canShowApps() bool {
	return !r.Mute && r.connection.server.options.Apps != nil && r.Peer.Apps
}

// soon runs work on a goroutine. The reading goroutine blocks only if far too many
// replies are unwritten, and at most until ctx ends.
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

// replyTo delivers the reply to a request. A request that the client cancelled gets no
// reply; a reply that does not marshal becomes INTERNAL.
func replyTo(ctx context.Context, to deliver, answer *jsonrpc.Reply) {
	if errors.Is(context.Cause(ctx), ErrCancelledByClient) {
		_ = to(nil)
		return
	}
	if errors.Is(to(answer), jsonrpc.ErrEncoding) {
		_ = to(internalReply(answer.ID)) // a write error has stopped the connection
	}
}

// unwritten is called with the error of each failed write. The connection stops if the
// client cannot be reached any more.
func (c *connection) unwritten(err error) {
	switch {
	case errors.Is(err, jsonrpc.ErrEncoding):
		c.server.logger.Error("a message could not be written", "error", err)
	case !errors.Is(err, jsonrpc.ErrClosed):
		c.stop(fault.New(fault.EngineOffline, "writing to the client: %w", err))
	}
}
