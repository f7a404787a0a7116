// Package events knows where the events of each run are in the trace. The trace is read
// once, and what is added to it when it is there; a page then reads the few lines that it
// shows.
package events

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"savant/telemetry"
)

// Line is what is read of each line of the trace.
type Line struct {
	Type         telemetry.Type     `json:"type"`
	Source       string             `json:"source"`
	RunID        string             `json:"run_id"`
	Step         int                `json:"step"`
	Model        string             `json:"model"`
	PromptTokens int                `json:"prompt_tokens"`
	OutputTokens int                `json:"output_tokens"`
	Action       string             `json:"action"`
	Tool         string             `json:"tool_name"`
	Status       string             `json:"status"`
	Error        *telemetry.Failure `json:"error"`
	DurationMS   float64            `json:"duration_ms"`
	// Metadata are members of any type: services outside may write them.
	Metadata struct {
		Provider any `json:"provider"`
		Purpose  any `json:"purpose"`
		Rule     any `json:"rule"`
		Cost     any `json:"cost"`
	} `json:"metadata"`
}

// Index is where the events of each run are. What it holds is bounded by the trace, of
// which old files go. It may be used by several goroutines at once.
type Index struct {
	recorder *telemetry.Recorder
	observe  func(Line)

	mu     sync.Mutex
	cursor telemetry.Cursor
	epoch  string
	files  []string // by their numbers in entries
	runs   map[string]*run
	now    uint64 // how many events there were
	lost   uint64
}

// run are the events of one run, in the order of the trace.
type run struct {
	entries []entry
	changed uint64 // the number of its last event
}

// entry is an event, as small as it can be: there are hundreds of thousands.
type entry struct {
	at     int64
	length int32
	step   int32
	file   uint16
	kind   uint16
}

// New returns an index of what a recorder's trace has. observe is called with each line,
// once and in order; nil observes nothing.
func New(recorder *telemetry.Recorder, observe func(Line)) *Index {
	return &Index{recorder: recorder, observe: observe, epoch: rand.Text(), runs: map[string]*run{}}
}

// Refresh reads what was written since the last time.
func (x *Index) Refresh() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	lost, err := x.recorder.Lines(&x.cursor, x.add)
	if lost {
		x.lost++
		x.runs, x.files, x.epoch = map[string]*run{}, nil, rand.Text()
		_, err = x.recorder.Lines(&x.cursor, x.add)
	}
	x.forget()
	return err
}

// add takes over one line. A line that is no event is passed over.
func (x *Index) add(at telemetry.Place, text []byte) bool {
	var line Line
	if json.Unmarshal(text, &line) != nil {
		return true
	}
	if x.observe != nil {
		x.observe(line)
	}
	if line.RunID == "" {
		return true
	}
	file := slices.Index(x.files, at.File)
	if file < 0 {
		file = len(x.files)
		x.files = append(x.files, at.File)
	}
	events := x.runs[line.RunID]
	if events == nil {
		events = &run{}
		x.runs[line.RunID] = events
	}
	x.now++
	events.changed = x.now
	events.entries = append(events.entries, entry{at.At, int32(at.Length), int32(line.Step), uint16(file), kindOf(line.Type)})
	return true
}

// forget drops the events of files that are gone. Events then have other numbers, so
// that a new epoch begins.
func (x *Index) forget() {
	left := x.cursor.Files()
	if !slices.ContainsFunc(x.files, func(file string) bool { return !slices.Contains(left, file) }) {
		return
	}
	var numbers []uint16 // of a file that is left: its new number, from 1
	var files []string
	for _, file := range x.files {
		if !slices.Contains(left, file) {
			numbers = append(numbers, 0)
			continue
		}
		files = append(files, file)
		numbers = append(numbers, uint16(len(files)))
	}
	for name, events := range x.runs {
		events.entries = slices.DeleteFunc(events.entries, func(e entry) bool { return numbers[e.file] == 0 })
		for i := range events.entries {
			events.entries[i].file = numbers[events.entries[i].file] - 1
		}
		if len(events.entries) == 0 {
			delete(x.runs, name)
		}
	}
	x.files, x.epoch = files, rand.Text()
}

// kindOf is the number of a type of event, from 1; 0 is a type that is not known here.
func kindOf(kind telemetry.Type) uint16 {
	return uint16(slices.Index(telemetry.Types(), kind) + 1)
}

// Lost is how often events may have gone unseen, since the trace was moved aside twice
// between two looks at it.
func (x *Index) Lost() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost
}

// Mark is a moment: what has changed since it is told by Changed.
type Mark struct {
	Epoch string
	Now   uint64
}

// Now is the mark of what is known now.
func (x *Index) Now() Mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Mark{x.epoch, x.now}
}

// Changed returns the runs that have events since a mark, and the mark after them. all
// says that the mark is of another epoch: any run may have changed, and events have
// other numbers.
func (x *Index) Changed(since Mark) (runs []string, all bool, now Mark) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now = Mark{x.epoch, x.now}
	if since.Epoch != x.epoch {
		return nil, true, now
	}
	if since.Now == x.now {
		return nil, false, now
	}
	for name, events := range x.runs {
		if events.changed > since.Now {
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	return runs, false, now
}
