package telemetry

import (
	"errors"
	"log/slog"
	"os"
	"path"
	"sync"
	"time"

	"savant/internal/logfile"
	"savant/internal/ownfolder"
	"savant/internal/redact"
)

// Names of the files, below SAVANT_PATH unless Options.Folder is set.
const (
	TraceFile   = "logs/agent_trace.log"
	RuntimeFile = "logs/agent_runtime.log"
)

// Options configure a Recorder. All fields are optional.
type Options struct {
	// Root is SAVANT_PATH; nil writes no files.
	Root *os.Root
	// Folder is the folder of the files, below Root; empty: the folder of TraceFile.
	Folder string
	// ReadOnly: no files are written. Existing ones can be read.
	ReadOnly bool
	// Redactor removes secrets; nil is redact.Shapes.
	Redactor *redact.Redactor
	// MaxFile is the size in bytes above which a file is rotated to NAME.1; 0 means 10
	// MB.
	MaxFile int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger gets a warning if a file cannot be written (once per cause), and if the
	// folder of the files had to be created again. Nil discards them.
	Logger *slog.Logger
	// Causes were told of other files already; nil: none was.
	Causes *logfile.Causes
	// Watcher gets every redacted event, in order; nil: nobody does.
	Watcher Watcher
	// Complete adds fields to an event of RecordLater in the background, before it is
	// recorded. Nil adds nothing.
	Complete func(Event) Event
	// Trace opens the spans of Recorder.Span; nil opens no spans.
	Trace Tracer
}

// Watcher sees events as they are recorded. It must neither block nor record.
type Watcher interface {
	Recorded(event Event)
}

// path returns the path of a file in the folder of the files.
func (o Options) path(file string) string {
	if o.Folder == "" {
		return file
	}
	return path.Join(o.Folder, path.Base(file))
}

// Recorder redacts events and writes them. It is safe for concurrent use.
type Recorder struct {
	options        Options
	trace, runtime *logfile.File // nil if no files are written
	queue          *queue

	mu     sync.Mutex
	last   uint64 // the sequence of the newest event
	lost   uint64 // how many events could not be written
	closed bool
}

const defaultMaxFile = 10 << 20

// NewRecorder returns a recorder. It creates each file with its first event.
func NewRecorder(options Options) *Recorder {
	if options.MaxFile <= 0 {
		options.MaxFile = defaultMaxFile
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Causes == nil {
		options.Causes = new(logfile.Causes)
	}
	if options.Redactor == nil {
		options.Redactor = redact.Shapes()
	}
	r := &Recorder{options: options, queue: newQueue()}
	if options.Root != nil && !options.ReadOnly {
		r.trace = logfile.New(options.Root, options.path(TraceFile), options.MaxFile)
		r.runtime = logfile.New(options.Root, options.path(RuntimeFile), options.MaxFile)
	}
	return r
}

// Redactor returns the redactor of all events.
func (r *Recorder) Redactor() *redact.Redactor { return r.options.Redactor }

// Lost counts the events that could not be written, as on a full disk.
func (r *Recorder) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// Record redacts and writes an event. It returns no error, since a step must not fail
// because of telemetry. A nil recorder records nothing.
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

// record redacts, numbers and writes events. It modifies the slice.
func (r *Recorder) record(events []Event) {
	for i := range events {
		events[i] = clean(r.options.Redactor, events[i])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(events) == 0 {
		return
	}
	for i := range events {
		r.last++
		events[i].Sequence = r.last
	}
	r.write(events)
	for i := range events {
		if r.options.Watcher != nil {
			r.options.Watcher.Recorded(events[i])
		}
	}
}

// write appends the lines of events to each file, with one write per file.
func (r *Recorder) write(events []Event) {
	if r.trace == nil {
		return
	}
	var trace, readable []byte
	for i := range events {
		line, err := events[i].line()
		r.complain(r.trace, err)
		trace = append(trace, line...)
		if text := RuntimeLine(events[i]); text != "" {
			readable = append(readable, events[i].Timestamp+" "+events[i].RunID+" "+text+"\n"...)
		}
	}
	anew, err := r.trace.Append(trace) // first, since it has a line for each event
	r.complain(r.trace, err)
	if err != nil {
		r.lost += uint64(len(events))
	}
	if anew && err == nil {
		r.options.Logger.Warn("the telemetry folder was deleted or moved; it is created again", "file", r.trace.Name())
	}
	_, err = r.runtime.Append(readable)
	r.complain(r.runtime, err)
}

// complain logs the first failure of a cause, without the absolute path in the error.
func (r *Recorder) complain(file *logfile.File, err error) {
	if err == nil {
		return
	}
	if cause := ownfolder.Reason(err).Error(); r.options.Causes.First(cause) {
		r.options.Logger.Warn("a telemetry file cannot be written", "file", file.Name(), "cause", cause)
	}
}

// Close records the queued events, stops recording and closes the files.
func (r *Recorder) Close() error {
	r.closeQueue()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if r.trace == nil {
		return nil
	}
	return errors.Join(r.trace.Close(), r.runtime.Close())
}
