// Package events indexes the trace: it knows where the events of each run are. It reads
// the trace once and then only what is appended; a page reads the few lines that it
// shows.
package events

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"savant/telemetry"
)

// Line is the decoded part of each line of the trace.
type Line struct {
	Type         telemetry.Type     `json:"type"`
	Source       string             `json:"source"`
	RunID        string             `json:"run_id"`
	Workflow     string             `json:"workflow"`
	StepID       string             `json:"step_id"`
	Step         int                `json:"step"`
	Model        string             `json:"model"`
	PromptTokens int                `json:"prompt_tokens"`
	OutputTokens int                `json:"output_tokens"`
	Action       string             `json:"action"`
	Tool         string             `json:"tool_name"`
	Status       string             `json:"status"`
	Error        *telemetry.Failure `json:"error"`
	DurationMS   float64            `json:"duration_ms"`
	// Metadata members can have any type: external services may write them.
	Metadata struct {
		Provider any `json:"provider"`
		Purpose  any `json:"purpose"`
		Rule     any `json:"rule"`
		Rules    any `json:"rules"`
		Cost     any `json:"cost"`
	} `json:"metadata"`
}

// Index knows where the events of each run are. Its size is bounded by the trace, whose
// old files are deleted. It is safe for concurrent use.
type Index struct {
	recorder *telemetry.Recorder
	observe  func(Line)

	mu       sync.Mutex
	cursor   telemetry.Cursor
	epoch    string
	files    []string // entries refer to them by number
	runs     map[string]*run
	searches map[string]search
	now      uint64 // number of events so far
	lost     uint64
}

// run holds the events of one run, in the order of the trace.
type run struct {
	entries []entry
	calls   []Call
	changed uint64 // the number of its last event
}

// Call is a call of a model for a step of a workflow.
type Call struct {
	Workflow, Step, Model      string
	PromptTokens, OutputTokens int
	Cost                       float64
}

// entry is an event, as small as possible: there are hundreds of thousands.
type entry struct {
	at     int64
	length int32
	step   int32
	file   uint16
	kind   uint16
}

// New returns an index of a recorder's trace. observe is called with each line, once
// and in order; it may be nil.
func New(recorder *telemetry.Recorder, observe func(Line)) *Index {
	return &Index{recorder: recorder, observe: observe, epoch: rand.Text(), runs: map[string]*run{}, searches: map[string]search{}}
}

// Refresh reads what was appended since the last call.
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

// add adds one line. It skips a line that is not an event.
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
	if line.Type == telemetry.LLMCall && line.Workflow != "" {
		cost, _ := line.Metadata.Cost.(float64) // nobody knows it
		events.calls = append(events.calls, Call{line.Workflow, line.StepID, line.Model, line.PromptTokens, line.OutputTokens, cost})
	}
	x.now++
	events.changed = x.now
	events.entries = append(events.entries, entry{at.At, int32(at.Length), int32(line.Step), uint16(file), kindOf(line.Type)})
	return true
}

// forget drops the events of deleted files. This renumbers the events, so a new epoch
// begins.
func (x *Index) forget() {
	left := x.cursor.Files()
	if !slices.ContainsFunc(x.files, func(file string) bool { return !slices.Contains(left, file) }) {
		return
	}
	var numbers []uint16 // the new number of each remaining file, from 1
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
		// In a copy: a Selection may have the present ones.
		events.entries = slices.DeleteFunc(slices.Clone(events.entries), func(e entry) bool { return numbers[e.file] == 0 })
		for i := range events.entries {
			events.entries[i].file = numbers[events.entries[i].file] - 1
		}
		if len(events.entries) == 0 {
			delete(x.runs, name)
		}
	}
	x.files, x.epoch = files, rand.Text()
}

// kindOf is the number of a type of event, from 1; 0 for an unknown type.
func kindOf(kind telemetry.Type) uint16 {
	return uint16(slices.Index(telemetry.Types(), kind) + 1)
}

// Calls returns the calls of models for the steps of a run.
func (x *Index) Calls(workflow, name string) (calls []Call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if of := x.runs[name]; of != nil {
		for _, each := range of.calls {
			if each.Workflow == workflow {
				calls = append(calls, each)
			}
		}
	}
	return calls
}

// Count returns how many events of a type a run has.
func (x *Index) Count(name string, of telemetry.Type) int {
	return x.inMemory(name, Filter{Types: []string{string(of)}}).Len()
}

// Lost counts how often events may have been missed, because the trace was rotated
// twice between two reads, or could not be written.
func (x *Index) Lost() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost + x.recorder.Lost()
}

// Mark is a point in time; Changed returns what changed since.
type Mark struct {
	Epoch string
	Now   uint64
}

// Now returns the current mark.
func (x *Index) Now() Mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Mark{x.epoch, x.now}
}

// Changed returns the runs with events since a mark, and the new mark. all means that
// the mark is of another epoch: any run may have changed, and events are renumbered.
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
