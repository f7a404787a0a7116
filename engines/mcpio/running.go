package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// ErrCancelledByClient is the cause of a context that the client has
// cancelled: the request gets no reply.
var ErrCancelledByClient = errors.New("cancelled by the client")

// running finds the context of a request by its raw id, so that a client can
// cancel it.
type running struct{ requests sync.Map }

// begin returns the context of a request and the function that ends it. scope tells
// the ids of clients apart. No client may have two requests with one id; if one does,
// both are answered, and the later can be cancelled until the earlier is over.
func (r *running) begin(ctx context.Context, scope string, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := scope + " " + string(id)
	r.requests.Store(key, cancel)
	return ctx, func() {
		r.requests.Delete(key)
		cancel(nil)
	}
}

// cancel ends the context of a request. An unknown id is one that was answered.
func (r *running) cancel(scope string, id json.RawMessage) {
	if cancel, runs := r.requests.Load(scope + " " + string(id)); runs {
		cancel.(context.CancelCauseFunc)(ErrCancelledByClient)
	}
}
