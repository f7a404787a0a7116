package mcpio

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// subscriptions are those to tell when a list changes: a client that has
// initialized, and, from revision 2026-07-28 on, each subscriptions/listen.
type subscriptions struct {
	mu    sync.Mutex
	open  map[*subscription]struct{}
	ended bool
}

// subscription is told of the changes that its filter holds, which is empty at
// first.
type subscription struct {
	// id is that of the subscriptions/listen request; nil for a client that
	// has initialized.
	id     json.RawMessage
	cancel context.CancelFunc
	filter mcp.SubscriptionFilter
	// ready is closed when the client knows of its subscription. Notifications
	// wait for that, and none is lost in between.
	ready chan struct{}
}

func newSubscription(id json.RawMessage, cancel context.CancelFunc) *subscription {
	return &subscription{id: id, cancel: cancel, ready: make(chan struct{})}
}

func (s *subscriptions) add(one *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*subscription]struct{}{}
	}
	s.open[one] = struct{}{}
	if s.ended {
		one.cancel()
	}
}

func (s *subscriptions) remove(one *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

func (s *subscriptions) grant(one *subscription, filter mcp.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.filter = filter
}

// end lets every subscriptions/listen be answered.
func (s *subscriptions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for one := range s.open {
		one.cancel()
	}
}

// of returns those who want to know of a change.
func (s *subscriptions) of(method string) []*subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var told []*subscription
	for one := range s.open {
		if (method == mcp.MethodNotificationToolsListChanged && one.filter.ToolsListChanged) ||
			(method == mcp.MethodNotificationPromptsListChanged && one.filter.PromptsListChanged) ||
			(method == mcp.MethodNotificationResourcesListChanged && one.filter.ResourcesListChanged) {
			told = append(told, one)
		}
	}
	return told
}

// subscribeInitialized subscribes a client that has initialized to all changes.
// It is called before the reply is written; the function it returns, after.
func (c *connection) subscribeInitialized(peer *session) (replied func()) {
	if !peer.initialized || c.subscribed {
		return func() {}
	}
	c.subscribed = true
	one := newSubscription(nil, func() {})
	one.filter = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	c.subscriptions.add(one)
	return func() { close(one.ready) }
}

// startListening serves subscriptions/listen, which lasts until the client
// cancels it or leaves. It counts as a call that is not answered.
func (c *connection) startListening(ctx context.Context, r *request, to deliver) {
	turn, joined := c.queue.join("", len(r.Raw))
	if !joined {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded, "too many requests are open")))
		return
	}
	requestCtx, end := c.running.begin(ctx, r.ID)
	c.work.Go(func() {
		defer turn.leave()
		defer end()
		replyTo(requestCtx, to, c.listen(requestCtx, r))
	})
}

// listen keeps one subscription. mcp-go acknowledges it through the session's
// channel; only then are changes announced to it.
func (c *connection) listen(ctx context.Context, r *request) *jsonrpc.Reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := newSubscription(r.ID, cancel)
	c.subscriptions.add(one)
	defer c.subscriptions.remove(one)

	r.session.notifications = make(chan mcp.JSONRPCNotification, 1)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		note, open := <-r.session.notifications
		if !open {
			return // it was refused
		}
		if filter, granted := note.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter); granted {
			c.subscriptions.grant(one, filter)
		}
		_ = c.lines.Write(note)
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
	var method string
	switch {
	case list == "tools":
		method = mcp.MethodNotificationToolsListChanged
	case list == "prompts" && c.server.options.Offer.Prompts != nil:
		method = mcp.MethodNotificationPromptsListChanged
	case list == "resources" && c.server.options.Offer.ReadResource != nil:
		method = mcp.MethodNotificationResourcesListChanged
	default:
		return
	}
	for _, one := range c.subscriptions.of(method) {
		select {
		case <-one.ready:
		case <-ctx.Done():
			return
		}
		var params any
		if one.id != nil {
			params = map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: one.id}}
		}
		_ = c.lines.Write(jsonrpc.Notify(method, params))
	}
}
