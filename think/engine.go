// Package think guides a language model through a workflow: it hands out one
// instruction at a time, checks each result, keeps a durable record and says
// what comes next. It decides; the client executes.
package think

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"savant/fault"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// Options are what an Engine is made of. Library, Store, Now and NewID are
// required.
type Options struct {
	Library *library.Library
	Store   state.Store
	// KnownTool says whether a registry has a tool; nil knows all.
	KnownTool func(name string) bool
	// ToolNames lists the names of the registry's tools, for suggestions.
	ToolNames func() []string
	// Receipt returns what a call through the registry left, its result whole:
	// NOT_WITNESSED for what is not kept. Nil: calls leave nothing.
	Receipt func(ctx context.Context, id string) (state.Receipt, error)
	// Asked returns a call as a receipt has it: the canonical name of the tool,
	// and the digest of its arguments. Required with Receipt.
	Asked func(call string, input json.RawMessage) (tool, digest string, err error)
	// Person returns how to ask the person behind a call, nil where the client
	// cannot; without it nobody is asked.
	Person func(ctx context.Context) Ask
	Now    func() time.Time
	// NewID returns a fresh run id.
	NewID  func() string
	Logger *slog.Logger
	// ProjectEvery is how long a readable state file may lag behind its
	// journal; 0 means 100 ms.
	ProjectEvery time.Duration
}

// Engine is Think. All methods may be called at once; those on one run are
// taken in turn.
type Engine struct {
	Options
	mu       sync.Mutex
	live     map[state.Key]*live
	size     int                    // of what is live, in steps
	named    map[string]state.Key   // runs called for by their id alone
	graphs   map[string]*flow.Graph // by the digests of a run's workflows
	projects *projector
}

// live is a run in memory. It is only a cache: the journal is the truth.
type live struct {
	mu      sync.Mutex
	key     state.Key
	run     *flow.Run
	version int    // of the last record applied
	hash    string // of the last record applied
	pins    map[string]pin
	times   map[int]time.Time // when outstanding steps were handed out, by version
	warm    []answered        // the last answers, whose captures are still in memory
	used    time.Time
	size    int // in steps, as counted in the engine's; the engine's to guard
}

// answered is a step with the version of its answer.
type answered struct {
	step    string
	version int
}

// maxWarm is how many answers keep what they captured in memory: what the next
// steps are most likely to ask for. The rest is read back from the journal.
const maxWarm = 64

// cool notes an answer that is durable, and lets go of what an older one
// captured.
func (e *Engine) cool(l *live, step string, version int) {
	l.warm = append(l.warm, answered{step, version})
	if len(l.warm) > maxWarm {
		oldest := l.warm[0]
		l.warm = l.warm[1:]
		l.run.Release(oldest.step, e.answering(oldest.version, e.reading(l.key)))
	}
}

// spareTimes is about how many times of versions a run in memory may keep that
// nothing outstanding needs any more.
const spareTimes = 64

// note keeps when a version was made, and forgets what nothing outstanding was
// handed out with.
func (l *live) note(version int, at time.Time) {
	l.times[version] = at
	if len(l.times) > spareTimes+2*l.run.Issued() {
		l.times = needed(l.times, l.run)
	}
}

// needed returns the times of the versions that a run's outstanding steps were
// handed out with.
func needed(times map[int]time.Time, run *flow.Run) map[int]time.Time {
	kept := map[int]time.Time{}
	for _, version := range run.IssuedVersions() {
		if at, known := times[version]; known {
			kept[version] = at
		}
	}
	return kept
}

// maxLive bounds the runs kept in memory; maxNamed the ids whose workflow is
// remembered. Of all runs together, those that rest leave the memory above
// manySteps steps, and any that is not in use above maxRunSteps: making a run of a
// thousand steps again takes as long as a hundred steps, so that letting go of
// what is asked for next would cost more than all else. A step that is written
// out counts twice and takes about 0.5 KB, an item of a loop half of that.
const (
	maxLive     = 1024
	manySteps   = 200_000
	maxRunSteps = 2_000_000
	resting     = time.Minute
	maxNamed    = 4096
)

// New returns an Engine. Close it to write what is still to be projected.
func New(options Options) *Engine {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.ProjectEvery <= 0 {
		options.ProjectEvery = 100 * time.Millisecond
	}
	e := &Engine{Options: options, live: map[state.Key]*live{}, named: map[string]state.Key{}, graphs: map[string]*flow.Graph{}}
	e.projects = newProjector(options.Store, options.Logger, options.ProjectEvery)
	return e
}

// Close writes the readable state of every run that still lags and ends the
// background work. The store stays open.
func (e *Engine) Close() { e.projects.close() }

// hold returns the live entry of a run, locked; the caller unlocks it.
func (e *Engine) hold(key state.Key) *live {
	e.mu.Lock()
	l := e.live[key]
	if l == nil {
		e.evict()
		l = &live{key: key}
		e.live[key] = l
	}
	l.used = e.Now()
	e.mu.Unlock()
	l.mu.Lock()
	return l
}

// open returns a run brought up to its journal, locked; the caller unlocks it.
func (e *Engine) open(ctx context.Context, workflow, run string) (*live, error) {
	key, err := e.locate(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	l := e.hold(key)
	opened := false
	defer func() {
		if !opened { // also after a panic: others wait for the run
			l.forget()
			l.mu.Unlock()
		}
	}()
	if err := e.refresh(ctx, l); err != nil {
		return nil, err
	}
	e.weigh(l)
	opened = true
	return l, nil
}

// evict makes room for one more run; e.mu is held.
func (e *Engine) evict() {
	if len(e.live) >= maxLive {
		e.evictOldest(e.Now())
	}
}

// weigh notes how large a held run has become, and lets go of others when all
// in memory are too large together.
func (e *Engine) weigh(l *live) {
	size := l.run.Size()
	if size == l.size {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[l.key] != l {
		return // evicted while it was waited for
	}
	e.size += size - l.size
	l.size = size
	now := e.Now()
	for e.size > manySteps && e.evictOldest(now.Add(-resting)) || e.size > maxRunSteps && e.evictOldest(now) {
	}
}

// evictOldest drops the run that was used longest ago and is not in use, unless
// it was used after a time, and says whether it did; e.mu is held.
func (e *Engine) evictOldest(after time.Time) bool {
	var oldest *live
	for _, l := range e.live {
		if (oldest == nil || l.used.Before(oldest.used)) && l.mu.TryLock() {
			if oldest != nil {
				oldest.mu.Unlock()
			}
			oldest = l
		}
	}
	if oldest == nil {
		return false
	}
	if oldest.used.After(after) {
		oldest.mu.Unlock()
		return false
	}
	delete(e.live, oldest.key)
	e.size -= oldest.size
	oldest.run = nil
	oldest.mu.Unlock()
	return true
}

// forget drops a run from memory, so that it is read from disk again.
func (l *live) forget() { l.run, l.version, l.hash, l.warm = nil, 0, "", nil }

// locate completes a key: a run may be named without its workflow where its
// id is unique.
func (e *Engine) locate(ctx context.Context, workflow, run string) (state.Key, error) {
	if run == "" {
		return state.Key{}, fault.New(fault.InvalidParams, "run_id is missing: use the one that think.plan returned")
	}
	workflow = plainName(workflow)
	if workflow != "" {
		key := state.Key{Workflow: workflow, Run: run}
		return key, key.Validate()
	}
	e.mu.Lock()
	key, known := e.named[run]
	e.mu.Unlock()
	if known {
		return key, nil
	}
	found, err := e.Store.Find(ctx, run)
	if err != nil {
		return state.Key{}, err
	}
	switch len(found) {
	case 1:
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.named) >= maxNamed {
			e.named = map[string]state.Key{}
		}
		e.named[run] = found[0]
		return found[0], nil
	case 0:
		return state.Key{}, fault.New(fault.UnknownRun, "no run %q; think.state.list shows the runs there are", fault.Cut(run, 120))
	}
	return state.Key{}, fault.New(fault.InvalidParams, "several workflows have a run %q: name the workflow", run)
}
