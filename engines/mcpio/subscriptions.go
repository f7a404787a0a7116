package mcpio

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
)

// subscriptions receive list changes: an initialized client has one, and, from revision
// 2026-07-28 on, each subscriptions/listen request.
type subscriptions struct {
	// announcing is held while a subscription is acknowledged and while a change is
	// sent, so that the acknowledgement precedes the changes.
	announcing sync.Mutex

	mu    sync.Mutex
	open  map[*subscription]struct{}
	ended bool
}

// subscription receives the changes that its filter selects.
type subscription struct {
	// id is the id of the subscriptions/listen request; nil for an initialized client.
	id     json.RawMessage
	cancel context.CancelFunc
	filter mcp.SubscriptionFilter
	send   deliver
}

// add opens a subscription after acknowledge has sent the acknowledgement.
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

// end ends every subscriptions/listen request.
func (s *subscriptions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for one := range s.open {
		one.cancel()
	}
}

// subscribers returns the subscriptions to the changes of a list.
func (s *subscriptions) subscribers(list string) []*subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var matching []*subscription
	for one := range s.open {
		if map[string]bool{"tools": one.filter.ToolsListChanged, "prompts": one.filter.PromptsListChanged, "resources": one.filter.ResourcesListChanged}[list] {
			matching = append(matching, one)
		}
	}
	return matching
}

// startListening serves subscriptions/listen, which lasts until the client cancels it
// or leaves. It counts as an unanswered call.
func (c *connection) startListening(ctx context.Context, r *request, to deliver) {
	turn, joined := c.queue.join("", len(r.Raw))
	if !joined {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded, "too many requests are open")))
		return
	}
	requestCtx, end := c.running.begin(ctx, r.Scope, r.ID)
	c.work.Go(func() {
		defer turn.leave()
		defer end()
		replyTo(requestCtx, to, c.listen(requestCtx, r))
	})
}

// acknowledgedFilter is what a subscription receives: lists, and tasks (SEP-2663).
type acknowledgedFilter struct {
	mcp.SubscriptionFilter
	TaskIDs []string `json:"taskIds,omitempty"`
}

// listen holds one subscription, of the changes that the server announces and of tasks. One
// for tasks alone ends with the last of them, one for nothing at once.
func (c *connection) listen(ctx context.Context, r *request) *jsonrpc.Reply {
	if reply := r.readEra(); reply != nil {
		return reply
	}
	if !r.Peer.modern {
		return r.unknownMethod()
	}
	var wanted mcp.SubscriptionFilter
	if r.read(map[string]any{"notifications": &wanted}) != nil {
		return r.failed()
	}
	followed, lacking := r.namedTasks()
	if lacking {
		return r.failed()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &subscription{id: r.ID, cancel: cancel, filter: c.server.announced(wanted), send: r.Send}
	defer c.subscriptions.remove(one)
	allowed := acknowledgedFilter{SubscriptionFilter: one.filter}
	for _, each := range followed {
		allowed.TaskIDs = append(allowed.TaskIDs, each.id)
	}
	c.subscriptions.add(one, func() {
		_ = r.Send(jsonrpc.Notify(mcp.MethodNotificationSubscriptionsAcknowledged,
			map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: r.ID}, "notifications": allowed}))
	})
	var telling sync.WaitGroup
	for _, each := range followed {
		telling.Go(func() { each.tell(ctx, one) })
	}
	if !one.filter.IsEmpty() {
		<-ctx.Done()
	}
	telling.Wait()
	result := &mcp.SubscriptionsListenResult{}
	result.EnsureResultMeta().SetSubscriptionID(r.ID)
	r.stamp(result)
	return jsonrpc.Succeed(r.ID, result)
}

// announced returns which of the wanted changes the server announces.
func (s *Server) announced(wanted mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	has := s.capabilities()
	return mcp.SubscriptionFilter{
		ToolsListChanged:     wanted.ToolsListChanged,
		PromptsListChanged:   wanted.PromptsListChanged && has.Prompts != nil && has.Prompts.ListChanged,
		ResourcesListChanged: wanted.ResourcesListChanged && has.Resources != nil && has.Resources.ListChanged,
	}
}

// namedTasks are the tasks of its caller that a subscription names; others are left out.
// lacking: it names some, and the client takes none.
func (r *request) namedTasks() (named []*task, lacking bool) {
	listed, _ := jsonvalue.Decode(jsonvalue.Member(jsonvalue.Member(r.Params, "notifications"), "taskIds"))
	ids, isList := listed.([]any)
	if !isList {
		return nil, false
	}
	for _, id := range jsonvalue.Texts(ids) {
		if each := r.connection.tasks.of(r.Caller.ID, id); each != nil && !slices.Contains(named, each) {
			named = append(named, each)
		}
	}
	return named, r.lacksTasks()
}

// allChanges is the filter of an initialized client.
func (s *Server) allChanges() mcp.SubscriptionFilter {
	return s.announced(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true})
}

// watchLists announces list changes until ctx ends.
func (c *connection) watchLists(ctx context.Context) {
	go c.watch(ctx, c.server.watchTools())
	if watch := c.server.options.Offer.Watch; watch != nil {
		go c.watch(ctx, watch)
	}
}

// watchTools returns a function that announces changes of the registry from now on.
func (s *Server) watchTools() func(context.Context, func(list string)) error {
	registry := s.options.Registry
	since := registry.Version()
	return func(ctx context.Context, changed func(string)) error {
		return registry.Watch(ctx, since, func() { changed("tools") })
	}
}

// watch announces list changes until ctx ends.
func (c *connection) watch(ctx context.Context, watch func(context.Context, func(string)) error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic("watch", panicked)
		}
	}()
	if err := watch(ctx, c.changed); err != nil && ctx.Err() == nil {
		c.server.logger.Warn("changes are no longer announced", "error", err)
	}
}

// changed notifies the subscriptions to a list.
func (c *connection) changed(list string) {
	c.subscriptions.announcing.Lock()
	defer c.subscriptions.announcing.Unlock()
	for _, one := range c.subscriptions.subscribers(list) {
		var params any
		if one.id != nil {
			params = map[string]any{"_meta": map[string]any{mcp.MetaKeySubscriptionID: one.id}}
		}
		_ = one.send(jsonrpc.Notify("notifications/"+list+"/list_changed", params))
	}
}
