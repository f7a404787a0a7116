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
	mu       sync.Mutex
	welcomed bool
	open     map[*listener]struct{}
	ended    bool
}

// listener is one subscriptions/listen request. filter is what it was granted,
// once that was acknowledged.
type listener struct {
	id     json.RawMessage
	cancel context.CancelFunc
	filter mcp.SubscriptionFilter
}

// welcome notes that the reply to initialize is written: from then on the
// client may be notified.
func (l *listeners) welcome(initialized bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.welcomed = l.welcomed || initialized
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
	one := &listener{id: r.message.ID, cancel: cancel}
	c.listeners.add(one)
	defer c.listeners.remove(one)

	r.session.notifications = make(chan mcp.JSONRPCNotification, 1)
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		for note := range r.session.notifications {
			c.writeLine(note)
			if filter, granted := note.Params.AdditionalFields["notifications"].(mcp.SubscriptionFilter); granted {
				c.listeners.grant(one, filter)
			}
		}
	}()
	answer := c.handle(ctx, r)
	close(r.session.notifications)
	<-acknowledged
	return answer
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
	case list == "prompts" && c.server.options.Offer.Prompts != nil:
		method = mcp.MethodNotificationPromptsListChanged
	case list == "resources" && c.server.options.Offer.ReadResource != nil:
		method = mcp.MethodNotificationResourcesListChanged
	default:
		return
	}
	for _, note := range c.listeners.notes(method) {
		c.writeLine(note)
	}
}

// notes returns the notifications a change means.
func (l *listeners) notes(method string) []notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	var notes []notification
	if l.welcomed {
		notes = append(notes, notification{JSONRPC: mcp.JSONRPC_VERSION, Method: method})
	}
	for one := range l.open {
		if (method == mcp.MethodNotificationPromptsListChanged && one.filter.PromptsListChanged) ||
			(method == mcp.MethodNotificationResourcesListChanged && one.filter.ResourcesListChanged) {
			meta := map[string]any{mcp.MetaKeySubscriptionID: one.id}
			notes = append(notes, notification{JSONRPC: mcp.JSONRPC_VERSION, Method: method,
				Params: map[string]any{"_meta": meta}})
		}
	}
	return notes
}
