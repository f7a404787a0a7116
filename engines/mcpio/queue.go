package mcpio

import "sync"

// Bounds of what one client may have unanswered. They bound memory: a client
// that waits for its replies meets none of them.
const (
	// maxCalls calls are running or waiting; a further one is refused.
	maxCalls = 4096
	// maxControl replies to other requests are being made or written. Beyond
	// that nothing is read: such a client does not read its replies.
	maxControl = 1024
)

// queue holds the calls of one client that are not answered. It refuses a call
// when there are too many or they are too large, and it keeps calls of one key
// in the order they came. How many calls run at once is not its business: that
// is the limiter of each engine.
type queue struct {
	mu       sync.Mutex
	calls    int
	bytes    int
	maxBytes int
	last     map[string]chan struct{} // by key: closed when the last call of the key is over
}

// turn is one call in the queue.
type turn struct {
	queue *queue
	key   string
	size  int
	// before is closed when the call before this one is over; nil without one.
	before <-chan struct{}
	over   chan struct{}
}

// join adds a call of a size in bytes, or says that there are too many. One
// call alone is always taken. It is called on the reading goroutine, which is
// what makes the order that of arrival.
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

// wait returns when the call before this one is over. A cancelled call waits
// too: otherwise a later call could overtake one that still runs.
func (t *turn) wait() {
	if t.before != nil {
		<-t.before
	}
}

// leave ends the call's time in the queue.
func (t *turn) leave() {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	t.queue.calls--
	t.queue.bytes -= t.size
	if t.key == "" {
		return
	}
	close(t.over)
	if t.queue.last[t.key] == t.over {
		delete(t.queue.last, t.key)
	}
}
