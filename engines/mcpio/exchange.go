package mcpio

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// Peer is what initialize told of a client. A transport without connections keeps it
// with the client.
type Peer struct {
	Name, Title, Version string
	// Protocol is the revision that was negotiated; empty for a client that has not
	// initialized.
	Protocol string
	// Forms says that the client can put a form to its user.
	Forms bool
}

// Exchange is one message of a client, or a batch of them, and the way back to it.
type Exchange struct {
	Data []byte
	Peer Peer
	// Scope tells the ids of this client's requests from those of other clients: only a
	// message of the same scope cancels one. Empty: none can.
	Scope string
	// Send takes what is sent to the client before the reply: progress, questions,
	// changed lists. It may be called by several goroutines at once, and not after
	// Handle has returned.
	Send func(message any) error
	// Gone is closed when the client cannot get a question any more.
	Gone <-chan struct{}
	// Mute says that the client's user must not be asked.
	Mute bool
	// Initialized is told of a client that initialized; it may be nil.
	Initialized func(Peer)
}

// Exchanges serves messages that come one by one from any number of clients, as over
// HTTP. Calls of one run keep the order in which they came.
type Exchanges struct {
	connection *connection
	ctx        context.Context
	stop       context.CancelCauseFunc
	closed     sync.Once
}

// Exchanges begins to serve messages until Close.
func (s *Server) Exchanges() *Exchanges {
	ctx, stop := context.WithCancelCause(context.Background())
	c := s.newConnection(discard{}, stop)
	c.questions.Unguessable = true
	c.watchLists(ctx)
	return &Exchanges{connection: c, ctx: ctx, stop: stop}
}

// discard is the stream of a connection that has none: each exchange has its own.
type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }

// Handle serves the message of an exchange and returns the reply as JSON, nil where
// there is none: for notifications, responses, and a request whose context ended with
// ErrCancelledByClient. When ctx ends, the request is cancelled; its reply is waited
// for a moment. The error is ENGINE_OFFLINE where there is no reply because of that.
func (x *Exchanges) Handle(ctx context.Context, from Exchange) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
	replied := make(chan json.RawMessage, 1)
	to := func(reply any) error {
		encoded, err := encoded(reply)
		if err == nil {
			replied <- encoded
		}
		return err
	}
	data := bytes.TrimSpace(bytes.TrimPrefix(from.Data, jsonrpc.ByteOrderMark))
	if len(data) > 0 && data[0] == '[' {
		x.connection.receiveBatch(ctx, data, from.source(), to)
	} else {
		x.connection.receive(ctx, data, from.source(), to)
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

// encoded returns a reply as JSON; nil is none.
func encoded(reply any) (json.RawMessage, error) {
	if reply == nil {
		return nil, nil
	}
	var line bytes.Buffer
	if err := jsonrpc.NewWriter(&line, nil).Write(reply); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), nil
}

// Deliver hands a response of a client to the call that asked, and says whether one
// waited for it.
func (x *Exchanges) Deliver(m *jsonrpc.Message) bool { return x.connection.questions.Deliver(m) }

// Listen tells a client that has initialized of changed lists until ctx ends.
func (x *Exchanges) Listen(ctx context.Context, send func(message any) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &subscription{cancel: cancel, filter: allChanges(), send: send}
	x.connection.subscriptions.add(one, func() {})
	defer x.connection.subscriptions.remove(one)
	select {
	case <-ctx.Done():
	case <-x.ctx.Done():
	}
}

// EndListening ends every Listen and answers every subscriptions/listen, also those
// that come later.
func (x *Exchanges) EndListening() { x.connection.subscriptions.end() }

// Close ends what still runs. It returns when all has ended, or after the grace of a
// stopping server. It may be called again.
func (x *Exchanges) Close() {
	x.stop(nil)
	x.closed.Do(func() { x.connection.finish(x.ctx) })
}

func (e Exchange) source() source {
	if e.Scope == "" {
		e.Scope = rand.Text()
	}
	from := source{peer: e.Peer.session(), scope: e.Scope, send: e.Send, gone: e.Gone, mute: e.Mute}
	from.initialized = func(s *session) {
		if s.initialized && e.Initialized != nil {
			e.Initialized(s.known())
		}
	}
	return from
}

// session returns a peer as requests know it.
func (p Peer) session() session {
	s := session{client: mcp.Implementation{Name: p.Name, Title: p.Title, Version: p.Version}, version: p.Protocol, initialized: p.Protocol != ""}
	if p.Forms {
		s.capabilities.Elicitation = &mcp.ElicitationCapability{}
	}
	return s
}

// known returns what initialize told.
func (s *session) known() Peer {
	return Peer{Name: s.client.Name, Title: s.client.Title, Version: s.client.Version, Protocol: s.version, Forms: s.canElicit()}
}
