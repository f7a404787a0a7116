package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// errCancelledByClient is the cause of a context the client has cancelled: the
// request gets no reply.
var errCancelledByClient = errors.New("cancelled by the client")

// inflight finds the context of a running request by its raw id, so that a
// client can cancel it.
type inflight struct {
	mu      sync.Mutex
	flights map[string]*flight
}

type flight struct{ cancel context.CancelCauseFunc }

// begin returns the context of a request and the function that ends it. Of two
// requests with one id at once, which no client may send, the later is the one
// that can be cancelled; both are answered.
func (f *inflight) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	own, key := &flight{cancel}, string(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flights == nil {
		f.flights = map[string]*flight{}
	}
	f.flights[key] = own
	return ctx, func() {
		f.mu.Lock()
		if f.flights[key] == own {
			delete(f.flights, key)
		}
		f.mu.Unlock()
		cancel(nil)
	}
}

// cancel ends the context of a request; an unknown id is one already answered.
func (f *inflight) cancel(id json.RawMessage) {
	f.mu.Lock()
	running := f.flights[string(id)]
	f.mu.Unlock()
	if running != nil {
		running.cancel(errCancelledByClient)
	}
}
