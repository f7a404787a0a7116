package mcpio

import (
	"context"
	"errors"
	"io"
	"time"

	"savant/fault"
)

// connection is one client being served.
type connection struct {
	server *Server
	lines  *lineWriter
	// stop ends the connection, with the error to report.
	stop context.CancelCauseFunc
	// work answers the requests that are read.
	work    *crew
	turns   turns
	slots   slots
	load    load
	control chan struct{}
	// gone is closed when nothing more is read from the client.
	gone chan struct{}

	inflight  inflight
	questions questions
	parked    parkingLot
	listeners listeners
	// peer is what initialize told of the client, and welcomed whether that
	// made it a listener. Only the reading goroutine touches them.
	peer     session
	welcomed bool
}

func (s *Server) newConnection(out io.Writer, stop context.CancelCauseFunc) *connection {
	gone := make(chan struct{})
	return &connection{
		server:  s,
		work:    newCrew(gone),
		lines:   &lineWriter{out: out},
		stop:    stop,
		slots:   make(slots, maxRunning),
		load:    load{maxBytes: 2 * s.options.MaxLine},
		control: make(chan struct{}, maxControl),
		gone:    gone,
	}
}

// newRequest returns a request with its own copy of what initialize told.
func (c *connection) newRequest(m *message) *request {
	peer := c.peer
	peer.id = "stdio"
	return &request{message: m, connection: c, session: &peer, received: time.Now()}
}

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
func (c *connection) answerSoon(ctx context.Context, to deliver, answer *reply) {
	c.soon(ctx, func() { to(answer) })
}

func (c *connection) deliverUnlessCancelled(ctx context.Context, to deliver, answer *reply) {
	if errors.Is(context.Cause(ctx), errCancelledByClient) {
		answer = nil
	}
	to(answer)
}

// send writes a reply, if there is one. One that does not marshal is answered
// all the same.
func (c *connection) send(answer *reply) {
	if answer == nil {
		return
	}
	data, err := encodeLine(answer)
	if err != nil {
		c.server.logger.Error("a reply does not marshal", "error", err)
		c.writeLine(internalReply(answer.ID))
		return
	}
	c.writeData(data)
}

// writeLine writes a message that is known to marshal.
func (c *connection) writeLine(value any) {
	data, err := encodeLine(value)
	if err != nil {
		c.server.logger.Error("a message does not marshal", "error", err)
		return
	}
	c.writeData(data)
}

// writeData writes one line. A client that cannot be written to is gone.
func (c *connection) writeData(data []byte) {
	if err := c.lines.write(data); err != nil && !errors.Is(err, errClosed) {
		c.stop(fault.New(fault.EngineOffline, "writing to the client: %w", err))
	}
}
