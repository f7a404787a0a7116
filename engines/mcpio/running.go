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
type running struct{ requests sync.Map }

// begin returns the context of a request and the function that ends it. No
// client may have two requests with one id; if one does, both are answered, and
// the later can be cancelled until the earlier is over.
func (r *running) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.requests.Store(string(id), cancel)
	return ctx, func() {
		r.requests.Delete(string(id))
		cancel(nil)
	}
}

// cancel ends the context of a request. An unknown id is one that was answered.
func (r *running) cancel(id json.RawMessage) {
	if cancel, runs := r.requests.Load(string(id)); runs {
		cancel.(context.CancelCauseFunc)(errCancelledByClient)
	}
}
