package hub

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"savant/telemetry"
)

// A page that is live reads the trace itself, from the place it stands at: nothing is
// kept for it, so a slow page costs no memory and holds up no writer.

const (
	// lookAgain is how often the trace is looked at where no change of it was told: its
	// folder may not be there yet, or be on a disk that tells nothing.
	lookAgain = time.Second
	// keepAlive is how often a silent stream says that it is there.
	keepAlive = 15 * time.Second
	// sendTime is how long a page may take to accept what is sent.
	sendTime = 30 * time.Second
)

// changes tells pages that the trace may have grown.
type changes struct {
	mu   sync.Mutex
	next chan struct{} // closed with the next change
}

// watch tells of changes in a folder until ctx ends.
func watch(ctx context.Context, folder string, logger *slog.Logger) *changes {
	c := &changes{next: make(chan struct{})}
	go c.follow(ctx, folder, logger)
	return c
}

func (c *changes) follow(ctx context.Context, folder string, logger *slog.Logger) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	var events chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		events = watcher.Events
	} else {
		logger.Warn("live pages look at the trace once a second: its changes are not told", "cause", err.Error())
	}
	for {
		if watcher != nil {
			_ = watcher.Add(folder) // it may not be there, or be made again
		}
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-ticker.C:
		}
		c.tell()
	}
}

func (c *changes) tell() {
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

// live sends the events of a run as they are written, by whatever process, each as the
// row that the page would have of it. It begins after the cursor of Last-Event-ID, or of
// the query: a browser that comes back gets what it missed.
func (h *Hub) live(w http.ResponseWriter, r *http.Request) {
	run := r.PathValue("run")
	if _, err := h.options.Agent.Report(run); err != nil {
		h.fail(w, r, err)
		return
	}
	at := r.URL.Query().Get("after")
	if came := r.Header.Get("Last-Event-ID"); came != "" {
		at = came
	}
	cursor, known := telemetry.ParseCursor(at)
	if !known {
		http.Error(w, "the place in the trace is not one of this hub", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{hub: h, out: w, control: http.NewResponseController(w), run: run, filter: filterOf(r), cursor: cursor}
	s.comment("live")
	silent := time.NewTicker(keepAlive)
	defer silent.Stop()
	for s.err == nil {
		changed := h.changes.after() // before reading: what is written meanwhile is read next time
		s.sendNew()
		s.flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-silent.C:
			s.comment("still here")
		}
	}
}

// stream is what one live page is sent.
type stream struct {
	hub     *Hub
	out     http.ResponseWriter
	control *http.ResponseController
	run     string
	filter  filter
	cursor  telemetry.Cursor
	unsent  bool
	err     error // the page is gone
}

// sendNew sends the events after the cursor.
func (s *stream) sendNew() {
	lost, err := s.hub.options.Recorder.Since(&s.cursor, s.run, func(e telemetry.Event, line []byte) bool {
		if s.filter.shows(e, line) {
			s.send(e)
		}
		return s.err == nil
	})
	if lost {
		s.write("event: lost\ndata: events are gone from the trace\n\n")
		s.sendNew()
	}
	if err != nil {
		s.hub.options.Logger.Warn("a live page ended", "cause", err.Error())
		s.err = err
	}
}

// send sends an event as its row, which the page of the run has from the same template.
func (s *stream) send(e telemetry.Event) {
	var row bytes.Buffer
	if err := s.hub.pages.ExecuteTemplate(&row, "event", clean(s.hub.options.Redactor, s.hub.eventView(e))); err != nil {
		s.err = err
		return
	}
	// A line of a stream ends at each of the three line breaks.
	text := strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ", "\n", "\ndata: ").Replace(row.String())
	s.write(fmt.Sprintf("id: %s\nevent: row\ndata: %s\n\n", s.cursor, text))
}

func (s *stream) comment(text string) { s.write(": " + text + "\n\n") }

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
