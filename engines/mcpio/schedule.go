package mcpio

import (
	"context"
	"sync"
)

// Bounds of what one client may have going. They bound memory, not service: a
// client that waits for its replies meets none of them.
const (
	// maxRunning calls run at once; the others wait.
	maxRunning = 32
	// maxCalls calls are running or waiting; a further one is refused.
	maxCalls = 4096
	// maxControl replies to other requests are being made or written. Beyond
	// that nothing is read: such a client does not read its replies.
	maxControl = 1024
)

// turns orders calls that share a key: each waits for the one before it. It is
// joined on the reading goroutine, which is what makes it the order they came.
type turns struct {
	mu    sync.Mutex
	tails map[string]chan struct{}
}

// turn is one call's place. ready is closed when the call before it is over;
// it is nil when there is none.
type turn struct {
	ready <-chan struct{}
	leave func()
}

// join takes the next place behind a key. The place must be left, by a
// cancelled call too, and only once ready is closed: or a later call overtakes
// an earlier one that still runs.
func (t *turns) join(key string) turn {
	if key == "" {
		return turn{leave: func() {}}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tails == nil {
		t.tails = map[string]chan struct{}{}
	}
	done := make(chan struct{})
	before := t.tails[key]
	t.tails[key] = done
	return turn{ready: before, leave: func() { t.leave(key, done) }}
}

func (t *turns) leave(key string, done chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(done)
	if t.tails[key] == done {
		delete(t.tails, key)
	}
}

// wait blocks until it is the call's turn.
func (t turn) wait() {
	if t.ready != nil {
		<-t.ready
	}
}

// slots bounds how many calls run at once.
type slots chan struct{}

// take waits for a slot, or for the end of ctx.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hold is one call's use of a slot. While the call waits for a person it gives
// the slot away, however many questions it asks at once.
type hold struct {
	slots    slots
	mu       sync.Mutex
	waiting  int
	released bool
}

// take waits for a slot. A slot that comes free because the connection ends is
// not taken: life, which the call's own ctx derives from, ends before any call
// does.
func (h *hold) take(life, ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := h.slots.take(ctx); err != nil {
		return err
	}
	if err := life.Err(); err != nil {
		<-h.slots
		return err
	}
	return nil
}

// pause gives the slot away until resume.
func (h *hold) pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == 0 && !h.released {
		<-h.slots
	}
	h.waiting++
}

// resume takes a slot again once the last question is answered.
func (h *hold) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	if h.waiting == 0 && !h.released {
		h.slots <- struct{}{}
	}
}

// release gives the slot back for good. A tool that returned while it still
// asks has given it already.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == 0 && !h.released {
		<-h.slots
	}
	h.released = true
}

// load counts the calls that are running or waiting, and their bytes.
type load struct {
	mu           sync.Mutex
	calls, bytes int
	maxBytes     int
}

// admit counts a call of a size in bytes unless there are too many; one alone
// is always admitted.
func (l *load) admit(size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls >= maxCalls || (l.calls > 0 && l.bytes+size > l.maxBytes) {
		return false
	}
	l.calls++
	l.bytes += size
	return true
}

func (l *load) release(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
	l.bytes -= size
}
