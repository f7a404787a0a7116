package mcpio

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
)

// listeners are those to tell when a list changes: a client that has
// initialized, and, from revision 2026-07-28, each subscriptions/listen.
type listeners struct {
	mu    sync.Mutex
	open  map[*listener]struct{}
	ended bool
}

// listener is told of what its filter holds, which is nothing at first.
type listener struct {
	// id is that of the subscriptions/listen request; nil for a client that
	// has initialized.
	id     json.RawMessage
	cancel context.CancelFunc
	filter mcp.SubscriptionFilter
	// ready is closed when the client has been told that it is one: no
	// notification goes before that, and none is lost in between.
	ready chan struct{}
}

func newListener(id json.RawMessage, cancel context.CancelFunc) *listener {
	return &listener{id: id, cancel: cancel, ready: make(chan struct{})}
}

func (l *listeners) add(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*listener]struct{}{}
	}
	l.open[one] = struct{}{}
	if l.ended {
		one.cancel()
	}
}

func (l *listeners) remove(one *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, one)
}

func (l *listeners) grant(one *listener, filter mcp.SubscriptionFilter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.filter = filter
}

// end lets every listening request be answered.
func (l *listeners) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for one := range l.open {
		one.cancel()
	}
}

// of returns those who want to know of a change.
func (l *listeners) of(method string) []*listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []*listener
	for one := range l.open {
		if (method == mcp.MethodNotificationToolsListChanged && one.filter.ToolsListChanged) ||
			(method == mcp.MethodNotificationPromptsListChanged && one.filter.PromptsListChanged) ||
			(method == mcp.MethodNotificationResourcesListChanged && one.filter.ResourcesListChanged) {
			told = append(told, one)
		}
	}
	return told
}

// welcome makes a client that has initialized a listener. It is called before
// the reply is written; the function it returns, after.
func (c *connection) welcome(peer *session) (told func()) {
	if !peer.initialized || c.welcomed {
		return func() {}
	}
	c.welcomed = true
	one := newListener(nil, func() {})
	one.filter = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	c.listeners.add(one)
	return func() { close(one.ready) }
}

// startListening serves subscriptions/listen, which lasts until the client
// cancels it or leaves. It holds no slot.
func (c *connection) startListening(ctx context.Context, r *request, to deliver) {
	size := len(r.message.raw)
	if !c.load.admit(size) {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded, "too many requests are open")))
		return
	}
	requestCtx, end := c.inflight.begin(ctx, r.message.ID)
	c.work.Go(func() {
		defer c.load.release(size)
		defer end()
		c.deliverUnlessCancelled(requestCtx, to, c.listen(requestCtx, r))
	})
}

// listen keeps one subscription. mcp-go acknowledges it through the session's
// channel; only then are changes announced to it.
func (c *connection) listen(ctx context.Context, r *request) *reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := newListener(r.message.ID, cancel)
	c.listeners.add(one)
	defer c.listeners.remove(one)

	r.session.notifications = make(chan mcp.JSONRPCNotification, 1)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		note, open := <-r.session.notifications
		if !open {
			return // it was refused
		}
		if filter, granted := note.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter); granted {
			c.listeners.grant(one, filter)
		}
		c.writeLine(note)
		close(one.ready)
	}()
	answer := c.handle(ctx, r)
	close(r.session.notifications)
	<-acknowledged
	return answer
}

// watchTools returns what announces that the registry changed from now on.
func (s *Server) watchTools() func(context.Context, func(list string)) error {
	registry := s.options.Registry
	since := registry.Version()
	return func(ctx context.Context, changed func(string)) error {
		return registry.Watch(ctx, since, func() { changed("tools") })
	}
}

// watch announces changed lists until ctx ends.
func (c *connection) watch(ctx context.Context, watch func(context.Context, func(string)) error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic("watch", panicked)
		}
	}()
	changed := func(list string) { c.changed(ctx, list) }
	if err := watch(ctx, changed); err != nil && ctx.Err() == nil {
		c.server.logger.Warn("changes are not announced any more", "error", err)
	}
}

// changed tells everyone who wants to know that a list has changed.
func (c *connection) changed(ctx context.Context, list string) {
	note := notification{JSONRPC: mcp.JSONRPC_VERSION}
	switch {
	case list == "tools":
		note.Method = mcp.MethodNotificationToolsListChanged
	case list == "prompts" && c.server.options.Offer.Prompts != nil:
		note.Method = mcp.MethodNotificationPromptsListChanged
	case list == "resources" && c.server.options.Offer.ReadResource != nil:
		note.Method = mcp.MethodNotificationResourcesListChanged
	default:
		return
	}
	for _, one := range c.listeners.of(note.Method) {
		select {
		case <-one.ready:
		case <-ctx.Done():
			return
		}
		note.Params = nil
		if one.id != nil {
			note.Params = map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: one.id}}
		}
		c.writeLine(note)
	}
}
