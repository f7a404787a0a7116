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
	// announcing is held while a subscription is acknowledged and while a change
	// is told, so that the client knows of a subscription before its changes.
	announcing sync.Mutex

	mu    sync.Mutex
	open  map[*subscription]struct{}
	ended bool
}

// subscription is told of the changes that its filter holds.
type subscription struct {
	// id is that of the subscriptions/listen request; nil for a client that
	// has initialized.
	id     json.RawMessage
	cancel context.CancelFunc
	filter mcp.SubscriptionFilter
	send   deliver
}

// add opens a subscription once acknowledge has told the client of it.
func (s *subscriptions) add(one *subscription, acknowledge func()) {
	s.announcing.Lock()
	defer s.announcing.Unlock()
	acknowledge()
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

// startListening serves subscriptions/listen, which lasts until the client
// cancels it or leaves. It counts as a call that is not answered.
func (c *connection) startListening(ctx context.Context, r *request, to deliver) {
	turn, joined := c.queue.join("", len(r.Raw))
	if !joined {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded, "too many requests are open")))
		return
	}
	requestCtx, end := c.running.begin(ctx, r.scope, r.ID)
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
	one := &subscription{id: r.ID, cancel: cancel, send: r.send}
	defer c.subscriptions.remove(one)
	r.session.notifications = make(chan mcp.JSONRPCNotification, 1)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		note, open := <-r.session.notifications
		if !open {
			return // it was refused
		}
		one.filter, _ = note.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter)
		c.subscriptions.add(one, func() { _ = r.send(note) })
	}()
	answer := c.handle(ctx, r)
	close(r.session.notifications)
	<-acknowledged
	return answer
}

// allChanges is the filter of a client that has initialized.
func allChanges() mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
}

// watchLists announces changed lists until ctx ends.
func (c *connection) watchLists(ctx context.Context) {
	go c.watch(ctx, c.server.watchTools())
	if watch := c.server.options.Offer.Watch; watch != nil {
		go c.watch(ctx, watch)
	}
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
	if err := watch(ctx, c.changed); err != nil && ctx.Err() == nil {
		c.server.logger.Warn("changes are not announced any more", "error", err)
	}
}

// changed tells everyone who wants to know that a list has changed.
func (c *connection) changed(list string) {
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
	c.subscriptions.announcing.Lock()
	defer c.subscriptions.announcing.Unlock()
	for _, one := range c.subscriptions.of(method) {
		var params any
		if one.id != nil {
			params = map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: one.id}}
		}
		_ = one.send(jsonrpc.Notify(method, params))
	}
}
