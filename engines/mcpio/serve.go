package mcpio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// stopGrace is how long a stopping server waits for the replies of the calls that it
// cancelled. It keeps a stop under 200 ms.
const stopGrace = 100 * time.Millisecond

// Serve serves one client until in ends or ctx does.
//
// When in ends, every request that was read is answered first, however long that takes.
// When ctx ends, the contexts of running calls end; replies of the next 100 ms are
// still written, and calls that run longer are abandoned. Both return nil. The error of
// a broken stream is ENGINE_OFFLINE.
//
// Serve closes neither stream. If a Read is blocked when ctx ends, it stays blocked
// until in is closed.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := s.newConnection(out, stop)
	defer c.lines.Close()

	c.watchLists(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.receiveAll(ctx, jsonrpc.NewReader(in, s.options.MaxLine)) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done(): // the owner of the stream ends a blocked Read by closing it
	}
	c.finish(ctx)
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, fault.EngineOffline) {
		return cause
	}
	return err
}

// receiveAll is the loop of stdio: it routes every line until the stream or ctx ends.
func (c *connection) receiveAll(ctx context.Context, in *jsonrpc.Reader) (broken error) {
	for ended := false; !ended; {
		data, err := in.Next()
		data = bytes.TrimSpace(bytes.TrimPrefix(data, jsonrpc.ByteOrderMark))
		c.reading.Lock()
		switch {
		case ctx.Err() != nil, errors.Is(err, io.EOF):
			ended = true
		case errors.Is(err, jsonrpc.ErrLineTooLong):
			c.answerSoon(ctx, c.lines.Write, jsonrpc.Fail(jsonrpc.NoID, jsonrpc.InvalidRequest, fmt.Sprintf(
				"a line of more than %d bytes was not read", c.server.options.MaxLine), nil))
		case err != nil:
			ended, broken = true, fault.New(fault.EngineOffline, "reading from the client: %w", err)
		case len(data) == 0:
		case data[0] == '[':
			c.receiveBatch(ctx, data, c.stream(), c.lines.Write)
		default:
			c.receive(ctx, data, c.stream(), c.lines.Write)
		}
		c.reading.Unlock()
	}
	return broken
}

// deliver takes the reply to one message, a *jsonrpc.Reply; nil means no reply.
type deliver func(reply any) error

// receive routes one message. It must not block, except for a client that does not read
// its replies: slow work runs on goroutines.
func (c *connection) receive(ctx context.Context, data []byte, from Exchange, to deliver) {
	m, reply := jsonrpc.Parse(data)
	if reply != nil {
		if jsonvalue.Member(data, "method") == nil { // what cannot be read answers nothing else
			c.questions.Deliver(from.Scope, &jsonrpc.Message{ID: reply.ID})
		}
		c.answerSoon(ctx, to, reply)
		return
	}
	given, err := readParams(m.Params)
	switch method := mcp.MCPMethod(m.Method); {
	case err != nil:
		c.answerSoon(ctx, to, jsonrpc.Refuse(data, err))
	case m.IsResponse():
		c.questions.Deliver(from.Scope, m)
		c.answerSoon(ctx, to, nil)
	case m.IsNotification():
		if m.Method == string(mcp.MethodNotificationCancelled) {
			c.running.cancel(from.Scope, given.RequestID)
		}
		c.answerSoon(ctx, to, nil)
	case method == mcp.MethodToolsCall:
		c.startCall(ctx, c.newRequest(m, given, from), to)
	case method == mcp.MethodSubscriptionsListen:
		c.startListening(ctx, c.newRequest(m, given, from), to)
	case method == mcp.MethodInitialize:
		c.initialize(ctx, c.newRequest(m, given, from), to)
	default:
		r := c.newRequest(m, given, from)
		requestCtx, end := c.running.begin(ctx, r.Scope, r.ID)
		c.soon(ctx, func() {
			defer end()
			replyTo(requestCtx, to, c.answer(requestCtx, r))
		})
	}
}

// initialize is handled before the next line is read, since later messages depend on
// it. The client is subscribed to all changes from its reply on.
func (c *connection) initialize(ctx context.Context, r *request, to deliver) {
	answer := c.answer(ctx, r)
	if answer.Error != nil {
		c.answerSoon(ctx, to, answer)
		return
	}
	if r.Initialized != nil {
		r.Initialized(r.Peer)
		c.answerSoon(ctx, to, answer)
		return
	}
	c.peer = r.Peer
	if c.subscribed {
		c.answerSoon(ctx, to, answer)
		return
	}
	c.subscribed = true
	c.soon(ctx, func() {
		c.subscriptions.add(&subscription{cancel: func() {}, filter: c.server.allChanges(), send: c.lines.Write}, func() { _ = to(answer) })
	})
}

// finish cancels what waits for the client and waits until the requests that were read
// are answered; after the end of ctx only for the grace period.
func (c *connection) finish(ctx context.Context) {
	c.reading.Lock() // no line is handled from now on, see receiveAll
	close(c.gone)
	c.reading.Unlock()
	c.subscriptions.end()
	c.suspended.end()
	c.tasks.end()
	answered := make(chan struct{})
	go func() {
		c.work.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return
	case <-ctx.Done():
	}
	select {
	case <-answered:
	case <-time.After(stopGrace):
	}
}
