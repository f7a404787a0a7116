package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// errCancelledByClient is the cause of a context that the client has
// cancelled: the request gets no reply.
var errCancelledByClient = errors.New("cancelled by the client")

// running finds the context of a request by its raw id, so that a client can
// cancel it.
type running struct {
	mu       sync.Mutex
	requests map[string]*context.CancelCauseFunc
}

// begin returns the context of a request and the function that ends it. No
// client may have two requests with one id; if one does, the later can be
// cancelled and both are answered.
func (r *running) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	own, key := &cancel, string(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests == nil {
		r.requests = map[string]*context.CancelCauseFunc{}
	}
	r.requests[key] = own
	return ctx, func() {
		r.mu.Lock()
		if r.requests[key] == own {
			delete(r.requests, key)
		}
		r.mu.Unlock()
		cancel(nil)
	}
}

// cancel ends the context of a request. An unknown id is one that was answered.
func (r *running) cancel(id json.RawMessage) {
	r.mu.Lock()
	cancel := r.requests[string(id)]
	r.mu.Unlock()
	if cancel != nil {
		(*cancel)(errCancelledByClient)
	}
}
