package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"savant/hub/events"
)

// A stream names the runs with new events; a page that shows one of them fetches the
// rows that it needs. So the server keeps no state per page, a slow or hidden page
// costs no memory and blocks no writer, and one stream serves all tabs of a browser,
// which has only six connections.

const (
	// lookAgain is the polling interval of the trace, in case its folder does not exist
	// yet or its file system sends no events.
	lookAgain = time.Second
	// debounce is how long changes are collected before a page is notified.
	debounce = 20 * time.Millisecond
	// keepAlive is the interval of keep-alive messages.
	keepAlive = 15 * time.Second
	// sendTime bounds how long a page may take to receive a message.
	sendTime = 30 * time.Second
	// maxNamed is how many runs a message names; if there are more, any run may have
	// changed.
	maxNamed = 100
)

// changes follows the trace and notifies pages.
type changes struct {
	index *events.Index

	mu      sync.Mutex
	next    chan struct{} // closed with the next change
	waiting int           // number of streams
}

// watch follows the trace in a folder until ctx ends.
func watch(ctx context.Context, index *events.Index, folder string, logger *slog.Logger) *changes {
	c := &changes{index: index, next: make(chan struct{})}
	go c.follow(ctx, folder, logger)
	return c
}

func (c *changes) follow(ctx context.Context, folder string, logger *slog.Logger) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	var changed chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		changed = watcher.Events
	} else {
		logger.Warn("live pages read the trace once a second, because the system reports no changes", "cause", err.Error())
	}
	for failed := false; ; {
		if watcher != nil {
			_ = watcher.Add(folder) // it may not exist yet, or be created again
		}
		before := c.index.Now()
		if err := c.index.Refresh(); err != nil && !failed {
			failed = true
			logger.Warn("the trace cannot be read", "cause", err.Error())
		}
		if c.index.Now() != before {
			c.announce()
		}
		if !c.wait(ctx, changed, ticker.C) {
			return
		}
	}
}

// wait returns when the trace should be read again; false after the end of ctx. Without
// a stream that is only once a second.
func (c *changes) wait(ctx context.Context, changed <-chan fsnotify.Event, tick <-chan time.Time) bool {
	pause := time.After(debounce)
	for grown, rested := false, false; !grown || !rested; {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case <-changed:
			grown = grown || c.observed()
		case <-pause:
			rested = true
		}
	}
	return true
}

func (c *changes) observed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting > 0
}

func (c *changes) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

// after returns a channel that is closed with the next change.
func (c *changes) after() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// listen counts a stream until end is called.
func (c *changes) listen() (end func()) {
	count := func(by int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting += by
	}
	count(1)
	return func() { count(-1) }
}

// live sends the names of runs with new events, of any process. It starts after
// Last-Event-ID, so that a browser that reconnects misses nothing; with an id of an
// earlier hub it reports that any run may have changed.
func (h *Hub) live(w http.ResponseWriter, r *http.Request) {
	defer h.changes.listen()()
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("after") // sent by a page that opens a new stream
	}
	at := markOf(id)
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{out: w, control: http.NewResponseController(w)}
	s.write("retry: 500\n\n")
	silent := time.NewTicker(keepAlive)
	defer silent.Stop()
	for s.err == nil {
		changed := h.changes.after() // before reading, so that no change is missed
		at = s.sendChanges(h.index, at)
		s.flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-silent.C:
			s.write(": still here\n\n")
		}
	}
}

// markOf parses the id of a stream's event; an invalid id counts as the start.
func markOf(id string) events.Mark {
	epoch, now, _ := strings.Cut(id, ".")
	number, err := strconv.ParseUint(now, 10, 64)
	if err != nil {
		return events.Mark{}
	}
	return events.Mark{Epoch: epoch, Now: number}
}

// stream is one browser's event stream.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	unsent  bool
	err     error // the browser is gone
}

// sendChanges sends what changed since a mark, and returns the next mark.
func (s *stream) sendChanges(index *events.Index, since events.Mark) events.Mark {
	runs, all, now := index.Changed(since)
	kind, data := "changed", []byte("[]")
	if all || len(runs) > maxNamed {
		kind = "reset"
	} else if data, _ = json.Marshal(runs); len(runs) == 0 { // encoding strings cannot fail
		return now
	}
	s.write(fmt.Sprintf("id: %s.%d\nevent: %s\ndata: %s\n\n", now.Epoch, now.Now, kind, data))
	return now
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	if s.err = s.control.SetWriteDeadline(time.Now().Add(sendTime)); s.err == nil {
		_, s.err = s.out.Write([]byte(text))
		s.unsent = true
	}
}

func (s *stream) flush() {
	if s.err == nil && s.unsent {
		s.err, s.unsent = s.control.Flush(), false
	}
}
