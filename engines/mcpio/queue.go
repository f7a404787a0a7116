package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// Limits on one client's unanswered requests. They bound memory; a client that waits
// for its replies never reaches them.
const (
	// maxCalls is the maximum number of running and queued calls; further ones are
	// refused.
	maxCalls = 4096
	// maxControl is the maximum number of unwritten replies to other requests. Beyond
	// it the server stops reading: such a client does not read its replies.
	maxControl = 1024
)

// queue holds one client's unanswered calls. It refuses a call if there are too many or
// they are too large, and runs calls of one key in the order of arrival. The limiter of
// each engine bounds how many run at once.
type queue struct {
	mu       sync.Mutex
	calls    int
	bytes    int
	maxBytes int
	last     map[string]chan struct{} // by key: closed when the last call of the key has ended
}

// turn is one call in the queue.
type turn struct {
	queue *queue
	key   string
	size  int
	// before is closed when the preceding call has ended; nil without one.
	before <-chan struct{}
	over   chan struct{}
	passed sync.Once
}

// join adds a call of a size in bytes, or reports that there are too many. A single
// call is always accepted. It is called on the reading goroutine, so that the order is
// that of arrival.
func (q *queue) join(key string, size int) (*turn, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls >= maxCalls || (q.calls > 0 && q.bytes+size > q.maxBytes) {
		return nil, false
	}
	q.calls++
	q.bytes += size
	joined := &turn{queue: q, key: key, size: size}
	if key != "" {
		joined.before, joined.over = q.last[key], make(chan struct{})
		q.last[key] = joined.over
	}
	return joined, true
}

// pass lets the next call of the key run, while this one waits for a person.
func (t *turn) pass() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.end()
}

// end lets the next call of the key run. The caller holds the queue's lock.
func (t *turn) end() {
	if t.key == "" {
		return
	}
	t.passed.Do(func() { close(t.over) })
	if t.queue.last[t.key] == t.over {
		delete(t.queue.last, t.key)
	}
}

// leave removes the call from the queue.
func (t *turn) leave() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.queue.calls--
	t.queue.bytes -= t.size
	t.end()
}

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
