package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// ErrCancelledByClient is the cause of a context that the client cancelled: the request
// gets no reply.
var ErrCancelledByClient = errors.New("cancelled by the client")

// running maps raw request ids to contexts, so that a client can cancel a request.
type running struct{ requests sync.Map }

// begin returns the context of a request and the function that ends it. scope
// distinguishes the ids of clients. The protocol forbids two open requests with one id;
// if a client sends them, both are answered, but only the later can be cancelled, and
// only until the earlier has ended.
func (r *running) begin(ctx context.Context, scope string, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := scope + " " + string(id)
	r.requests.Store(key, cancel)
	return ctx, func() {
		r.requests.Delete(key)
		cancel(nil)
	}
}

// cancel ends the context of a request. An unknown id is ignored: that request was
// answered.
func (r *running) cancel(scope string, id json.RawMessage) {
	if cancel, runs := r.requests.Load(scope + " " + string(id)); runs {
		cancel.(context.CancelCauseFunc)(ErrCancelledByClient)
	}
}
