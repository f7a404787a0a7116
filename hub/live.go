package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"savant/hub/events"
)

// A stream names the runs with new events or records: "RUN" of the agent, "WORKFLOW/RUN"
// of a workflow. A page that shows one of them fetches what it needs. So the server keeps
// no state per page, a slow or hidden page costs no memory and blocks no writer, and one
// stream serves all tabs of a browser, which has only six connections.

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

// changes follows the trace and the journals, and notifies pages.
type changes struct {
	index    *events.Index
	journals *journals

	mu      sync.Mutex
	next    chan struct{} // closed with the next change
	waiting int           // number of streams
}

// watch follows the trace in a folder, and the journals, until ctx ends.
func watch(ctx context.Context, index *events.Index, journals *journals, folder string, logger *slog.Logger) *changes {
	c := &changes{index: index, journals: journals, next: make(chan struct{})}
	go c.follow(ctx, folder, logger)
	return c
}

// point is where a stream is in the trace and in the journals.
type point struct {
	trace events.Mark
	runs  uint64
}

// String returns the id of a stream's event.
func (p point) String() string { return fmt.Sprintf("%s.%d.%d", p.trace.Epoch, p.trace.Now, p.runs) }

// now returns the current point.
func (c *changes) now() point { return point{c.index.Now(), c.journals.now()} }

// since returns the runs that changed since a point, and the new mark; with all, any run
// may have changed.
func (c *changes) since(at point) (runs []string, all bool, now point) {
	agents, all, trace := c.index.Changed(at.trace)
	runs, allRuns, number := c.journals.since(at.runs)
	return append(agents, runs...), all || allRuns, point{trace, number}
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
		before := c.now()
		if watcher != nil {
			_ = watcher.Add(folder) // it may not exist yet, or be created again
		}
		c.journals.watch(watcher, c.observed())
		if err := c.index.Refresh(); err != nil && !failed {
			failed = true
			logger.Warn("the trace cannot be read", "cause", err.Error())
		}
		if c.now() != before {
			c.announce()
		}
		before = c.now()
		if !c.wait(ctx, changed, ticker.C) {
			return
		}
		if c.now() != before {
			c.announce()
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
		case event := <-changed:
			c.journals.note(event.Name)
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
		at = s.sendChanges(h.changes, at)
		s.flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-silent.C:
			s.write("event: here\ndata: 1\n\n") // a page does not learn of a comment
		}
	}
}

// markOf parses the id of a stream's event; an invalid id counts as the start.
func markOf(id string) point {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return point{}
	}
	now, err := strconv.ParseUint(parts[1], 10, 64)
	runs, wrong := strconv.ParseUint(parts[2], 10, 64)
	if err != nil || wrong != nil {
		return point{}
	}
	return point{events.Mark{Epoch: parts[0], Now: now}, runs}
}

// anyRun is what a page follows that shows many runs.
const anyRun = "any"

// noRun is what a page follows that shows none: it is looked at again now and then.
const noRun = "-"

// stream is one browser's event stream.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	unsent  bool
	err     error // the browser is gone
}

// sendChanges sends what changed since a point, and returns the next mark.
func (s *stream) sendChanges(from *changes, since point) point {
	runs, all, now := from.since(since)
	kind, data := "changed", []byte("[]")
	if all || len(runs) > maxNamed {
		kind = "reset"
	} else if data, _ = json.Marshal(runs); len(runs) == 0 { // encoding strings cannot fail
		return now
	}
	s.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", now, kind, data))
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

// journals counts the changes of runs of workflows, so that pages learn of them. It is
// safe for concurrent use.
type journals struct {
	folder string // of the journals; "" if they are elsewhere: then any run may have changed

	mu      sync.Mutex
	number  uint64            // of the last change
	changed map[string]uint64 // the number of the last change of a run, by "workflow/run"
	all     uint64            // the number of the last change that may be of any run
	watched []string
}

// maxChanged is how many runs are remembered by name.
const maxChanged = 1000

func (j *journals) now() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.number
}

// since returns the runs that changed after a number, and the present number; with all,
// any run may have changed.
func (j *journals) since(number uint64) (runs []string, all bool, now uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, at := range j.changed {
		if at > number {
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	return runs, j.all > number || number > j.number, j.number
}

// note counts a change of a file.
func (j *journals) note(file string) {
	folder, name := filepath.Split(file)
	run, is := strings.CutSuffix(name, ".journal")
	if !is || j.folder == "" || filepath.Dir(filepath.Clean(folder)) != j.folder {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	if j.changed == nil || len(j.changed) >= maxChanged {
		j.changed, j.all = map[string]uint64{}, j.number
	}
	j.changed[filepath.Base(folder)+"/"+run] = j.number
}

// watch adds the folders of workflows to a watcher. Where files cannot be watched, any
// run may have changed whenever somebody listens.
func (j *journals) watch(watcher *fsnotify.Watcher, observed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if watcher == nil || j.folder == "" {
		if observed {
			j.number++
			j.all = j.number
		}
		return
	}
	_ = watcher.Add(j.folder) // it may not exist yet
	entries, _ := os.ReadDir(j.folder)
	for _, each := range entries {
		path := filepath.Join(j.folder, each.Name())
		if !each.IsDir() || slices.Contains(j.watched, path) || watcher.Add(path) != nil {
			continue
		}
		j.watched = append(j.watched, path)
		j.number++
		j.all = j.number // a run may have begun before
	}
	present := watcher.WatchList()
	j.watched = slices.DeleteFunc(j.watched, func(path string) bool { return !slices.Contains(present, path) }) // deleted folders
}
