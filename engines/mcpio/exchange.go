package mcpio

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
)

// Exchange is one message or batch of a client, with the way to reply.
type Exchange struct {
	Data []byte
	// Peer is what initialize said about the client.
	Peer Peer
	// Scope distinguishes this client's request ids from those of other clients: a
	// message can cancel only requests of its own scope. Empty: it can cancel none.
	Scope string
	// Caller is who sends it, without the client's own name for itself.
	Caller engines.Identity
	// Send sends messages before the reply: progress, questions, changed lists. It may
	// be called concurrently, but not after Handle has returned.
	Send func(message any) error
	// Gone is closed when the client can no longer receive a question.
	Gone <-chan struct{}
	// Mute: the client's user must not be asked.
	Mute bool
	// Initialized, if set, is called with what a successful initialize said. The connection
	// then does not keep it.
	Initialized func(Peer)
}

// Exchanges serves single messages from any number of clients, as over HTTP. Calls of
// one run are processed in the order of arrival.
type Exchanges struct {
	connection *connection
	ctx        context.Context
	stop       context.CancelCauseFunc
	closed     sync.Once
}

// Exchanges starts serving messages until Close.
func (s *Server) Exchanges() *Exchanges {
	ctx, stop := context.WithCancelCause(context.Background())
	c := s.newConnection(discard{}, stop)
	c.watchLists(ctx)
	return &Exchanges{connection: c, ctx: ctx, stop: stop}
}

// discard is the output of the shared connection: each exchange has its own.
type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }

// Handle serves the message of an exchange and returns the reply as JSON. It returns
// nil for notifications, for responses, and for a request whose context ended with
// ErrCancelledByClient. When ctx ends, Handle cancels the request and waits briefly for
// its reply; without a reply the error is ENGINE_OFFLINE.
func (x *Exchanges) Handle(ctx context.Context, from Exchange) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from.Scope = cmp.Or(from.Scope, rand.Text())
	if from.Initialized == nil {
		from.Initialized = func(Peer) {}
	}
	defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
	replied := make(chan json.RawMessage, 1)
	to := func(reply any) error {
		encoded, err := jsonrpc.Encode(reply)
		if err == nil {
			replied <- encoded
		}
		return err
	}
	data := bytes.TrimSpace(bytes.TrimPrefix(from.Data, jsonrpc.ByteOrderMark))
	if len(data) > 0 && data[0] == '[' {
		x.connection.receiveBatch(ctx, data, from, to)
	} else {
		x.connection.receive(ctx, data, from, to)
	}
	select {
	case reply := <-replied:
		return reply, nil
	case <-ctx.Done():
	}
	select {
	case reply := <-replied:
		return reply, nil
	case <-time.After(stopGrace):
		return nil, fault.New(fault.EngineOffline, "the request ended before it was answered: %w", context.Cause(ctx))
	}
}

// Deliver passes the response of a client, by its Exchange.Scope, to its call that asked,
// and reports whether one was waiting for it.
func (x *Exchanges) Deliver(scope string, m *jsonrpc.Message) bool {
	return x.connection.questions.Deliver(scope, m)
}

// Listen sends list changes to an initialized client until ctx ends. It calls begin
// after it has subscribed the client: no change is lost that comes after the client sees
// that the stream has begun. send may be called before begin returns. An error of begin
// ends Listen.
func (x *Exchanges) Listen(ctx context.Context, begin func() error, send func(message any) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &subscription{cancel: cancel, filter: x.connection.server.allChanges(), send: send}
	x.connection.subscriptions.add(one, func() {})
	defer x.connection.subscriptions.remove(one)
	if begin() != nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-x.ctx.Done():
	}
}

// EndListening ends every Listen and answers every subscriptions/listen, including
// later ones.
func (x *Exchanges) EndListening() { x.connection.subscriptions.end() }

// Close ends what still runs. It returns when all has ended or the grace period is
// over. It may be called more than once.
func (x *Exchanges) Close() {
	x.stop(nil)
	x.closed.Do(func() { x.connection.finish(x.ctx) })
}
