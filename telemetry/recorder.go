package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"savant/internal/logfile"
	"savant/internal/ownfolder"
	"savant/internal/redact"
)

// Names of the files, under SAVANT_PATH.
const (
	TraceFile   = "logs/agent_trace.log"
	RuntimeFile = "logs/agent_runtime.log"
)

// Options are what a Recorder is made of; the zero value keeps events in
// memory alone.
type Options struct {
	// Root is SAVANT_PATH; nil writes no files.
	Root *os.Root
	// Redactor takes secrets out; nil knows their shapes only.
	Redactor *redact.Redactor
	// Keep is how many events stay in memory; 0 is 1024.
	Keep int
	// MaxFile is the size in bytes above which a file is moved to NAME.1 and
	// begun anew; 0 is 10 MB.
	MaxFile int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger is told once when a file cannot be written, and whenever their
	// folder had to be made again; nil discards it.
	Logger *slog.Logger
	// Observe is told of every event, clean, in order; it must not block and
	// not record.
	Observe func(Event)
	// Complete adds to an event of RecordLater what takes time to find out; nil
	// adds nothing.
	Complete func(Event) Event
	// Trace opens the spans of Recorder.Span; nil opens none.
	Trace Tracer
}

// output is one of the files.
type output struct {
	*logfile.File
	failed bool // a failure was logged
}

// Recorder keeps and writes events. It may be used by several goroutines at
// once.
type Recorder struct {
	options        Options
	trace, runtime *output // nil where no files are written
	queue          *queue

	mu       sync.Mutex
	ring     []Event
	last     uint64        // the sequence of the newest event
	recorded chan struct{} // closed at the next event
	closed   bool
}

const (
	defaultKeep    = 1024
	defaultMaxFile = 10 << 20
)

// NewRecorder returns a recorder. Files are made when there is something to
// write.
func NewRecorder(options Options) *Recorder {
	if options.Keep <= 0 {
		options.Keep = defaultKeep
	}
	if options.MaxFile <= 0 {
		options.MaxFile = defaultMaxFile
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Redactor == nil {
		options.Redactor = redact.New()
	}
	r := &Recorder{options: options, queue: newQueue(), recorded: make(chan struct{})}
	if options.Root != nil {
		r.trace = &output{File: logfile.New(options.Root, TraceFile, options.MaxFile)}
		r.runtime = &output{File: logfile.New(options.Root, RuntimeFile, options.MaxFile)}
	}
	return r
}

// Redactor returns what takes the secrets out.
func (r *Recorder) Redactor() *redact.Redactor { return r.options.Redactor }

// Record keeps an event and writes it. It never fails: telemetry is not worth
// a step. A nil recorder records nothing.
func (r *Recorder) Record(e Event) {
	if r == nil {
		return
	}
	r.record([]Event{r.stamped(e)})
}

func (r *Recorder) stamped(e Event) Event {
	if e.Timestamp == "" {
		e.Timestamp = r.options.Now().UTC().Format(time.RFC3339Nano)
	}
	return e
}

// record keeps and writes some events. They are not the caller's any more.
func (r *Recorder) record(events []Event) {
	for i := range events {
		events[i] = clean(r.options.Redactor, events[i])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for i := range events {
		r.last++
		events[i].Sequence = r.last
		r.keep(events[i])
	}
	r.write(events)
	for i := range events {
		if r.options.Observe != nil {
			r.options.Observe(events[i])
		}
	}
	close(r.recorded)
	r.recorded = make(chan struct{})
}

// keep puts an event into the ring, over the oldest where it is full.
func (r *Recorder) keep(e Event) {
	if len(r.ring) < r.options.Keep {
		r.ring = append(r.ring, e)
		return
	}
	r.ring[int((e.Sequence-1)%uint64(r.options.Keep))] = e
}

// write appends the lines of events to each file, with one write.
func (r *Recorder) write(events []Event) {
	if r.trace == nil {
		return
	}
	var trace, readable []byte
	for i := range events {
		line, err := events[i].line()
		r.complain(r.trace, err)
		trace = append(trace, line...)
		if text := Line(events[i]); text != "" {
			readable = append(readable, events[i].Timestamp+" "+events[i].RunID+" "+text+"\n"...)
		}
	}
	anew, err := r.trace.Append(trace) // first: a line of each event is in it
	r.complain(r.trace, err)
	if anew && err == nil {
		r.options.Logger.Warn("the folder of the telemetry was deleted or moved: it is made again", "file", r.trace.Name())
	}
	_, err = r.runtime.Append(readable)
	r.complain(r.runtime, err)
}

// complain logs the first failure of a file, whose name is relative to
// SAVANT_PATH: that of an error is not.
func (r *Recorder) complain(file *output, err error) {
	if err != nil && !file.failed {
		file.failed = true
		r.options.Logger.Warn("a file of the telemetry is not written", "file", file.Name(), "cause", ownfolder.Reason(err).Error())
	}
}

// Batch is what happened after a cursor. Missed is how many events between the
// cursor and the first of these are no longer kept: nothing is left out in
// silence. Next is the cursor for what follows.
type Batch struct {
	Events []Event `json:"events"`
	Missed uint64  `json:"missed,omitempty"`
	Next   uint64  `json:"next"`
}

// Since returns the events after a cursor, at most limit of them (0: all).
// Cursor 0 is the beginning; one beyond the newest event counts as the newest.
func (r *Recorder) Since(cursor uint64, limit int) Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since(cursor, limit)
}

func (r *Recorder) since(cursor uint64, limit int) Batch {
	cursor = min(cursor, r.last)
	batch := Batch{Events: []Event{}, Next: cursor}
	if oldest := r.last - uint64(len(r.ring)); cursor < oldest {
		batch.Missed, cursor = oldest-cursor, oldest
	}
	for cursor < r.last && (limit <= 0 || len(batch.Events) < limit) {
		batch.Events = append(batch.Events, r.ring[int(cursor%uint64(r.options.Keep))])
		cursor++
	}
	batch.Next = cursor
	return batch
}

// Wait is Since, but waits until there is an event. It returns ctx's error when
// ctx ends first, and io.EOF when the recorder was closed and everything was
// handed out.
func (r *Recorder) Wait(ctx context.Context, cursor uint64, limit int) (Batch, error) {
	for {
		r.mu.Lock()
		batch, recorded, closed := r.since(cursor, limit), r.recorded, r.closed
		r.mu.Unlock()
		switch {
		case len(batch.Events) > 0:
			return batch, nil
		case closed:
			return batch, io.EOF
		}
		select {
		case <-recorded:
		case <-ctx.Done():
			return batch, context.Cause(ctx)
		}
	}
}

// Close records what was handed over, ends the recording, wakes those who wait
// and lets go of the files.
func (r *Recorder) Close() error {
	r.closeQueue()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.recorded)
	if r.trace == nil {
		return nil
	}
	return errors.Join(r.trace.Close(), r.runtime.Close())
}
