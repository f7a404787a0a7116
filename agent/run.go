package agent

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// Run is one goal that the agent works on.
type Run struct {
	runtime *Runtime
	session *memory.Session
	options RunOptions
	began   time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	ended   chan struct{}

	// Owned by the goroutine that drives the run.
	guard      guard
	briefing   briefing
	recent     recent
	unrecorded *history // of a resumed run, for backfillTrace
	earlier    []exchange
	turned     bool // the run has a new goal and no decision for it yet

	snapshots snapshots
	cache     *lru.Cache[string, cachedCall]

	notes     notes
	unwritten error // why the end of the run was not recorded; set before ended is closed

	mu      sync.Mutex
	state   State
	report  Report
	changed chan struct{} // closed at the next change of the report
}

// briefing is the context that boot read; it is part of every question.
type briefing struct {
	prompts Prompts
	persona reasoning.Persona
	rules   []Rule
	repo    *reasoning.Repo
	begins  beginning // of a new run
}

// branches are the names of branches that a goal may have.
func (b *briefing) branches() []string {
	if b.repo == nil {
		return nil
	}
	return b.repo.Branches
}

// recent is the part of past steps that the next decision and the detection of loops
// need.
type recent struct {
	calls  []memory.Call // of the last step
	notes  []string      // about calls that were not made, of the last step that had calls
	traces []trace
}

func (r *Runtime) newRun(options RunOptions, session *memory.Session, began time.Time) *Run {
	cache, _ := lru.New[string, cachedCall](maxCached) // an error is only possible for a size below 1
	ctx, cancel := context.WithCancelCause(r.ctx)
	return &Run{runtime: r, session: session, options: options, began: began, ctx: ctx, cancel: cancel, ended: make(chan struct{}),
		guard: newGuard(r.options.Policy, options), cache: cache, state: Boot, changed: make(chan struct{}),
		report: Report{RunID: session.ID(), Status: StatusRunning, State: Boot, Goal: options.Goal}}
}

// ID returns the id of the run.
func (r *Run) ID() string { return r.session.ID() }

// Done is closed when the run has ended and all its data is written.
func (r *Run) Done() <-chan struct{} { return r.ended }

// Cancel ends the run and keeps what it did.
func (r *Run) Cancel() { r.cancel(errCanceled) }

// Leave interrupts the run so that another process can resume it.
func (r *Run) Leave() { r.cancel(errClosed) }

// Unwritten returns why the end of a run that is Done could not be recorded in its
// journal, or nil.
func (r *Run) Unwritten() error { return r.unwritten }

// Report returns the current report of the run, with its transcript.
func (r *Run) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Transcript = report.transcript(r.session.Steps())
	return report
}

// spent returns the report without the transcript.
func (r *Run) spent() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report
}

// Wait returns the report when the run or ctx has ended. It calls progress,
// which may be nil, after each step.
func (r *Run) Wait(ctx context.Context, progress func(Report)) Report {
	seen := -1
	for {
		r.mu.Lock()
		report, changed := r.report, r.changed
		r.mu.Unlock()
		if progress != nil && report.Steps != seen {
			progress(report)
			seen = report.Steps
		}
		select {
		case <-changed:
		case <-r.ended:
			return r.Report()
		case <-ctx.Done():
			return r.Report()
		}
	}
}

// update changes the report and wakes those who wait for a change.
func (r *Run) update(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.report)
	close(r.changed)
	r.changed = make(chan struct{})
}

// drive takes a run through its states to an end.
func (r *Run) drive(t turn) {
	ctx := telemetry.WithTrace(r.ctx, telemetry.Trace{Parent: r.options.TraceParent, State: r.options.TraceState})
	ctx, endSpan := r.runtime.options.Recorder.Span(ctx, telemetry.Event{Type: telemetry.RunStarted, RunID: r.ID(), Step: t.index})
	r.ctx = ctx
	var watching sync.WaitGroup
	watching.Go(r.watchCancel)
	defer watching.Wait()
	defer r.cancel(nil)
	state := Boot
	for !state.isEnd() {
		state, t = r.advance(state, t)
	}
	endSpan(r.conclude(state, t))
}

// advance does the work of one state and returns the state that follows.
func (r *Run) advance(state State, t turn) (State, turn) {
	t, signal, err := r.perform(state, t)
	if err != nil {
		cause := r.clean(err)
		signal, t.outcome = failed, outcome{Status: StatusError, Final: t.outcome.Final, Error: cause}
		r.session.Fail(memory.Failure{Step: t.index, Code: cause.Code, Details: cause.Message()})
	}
	if r.ctx.Err() != nil && signal != failed && signal != finish && signal != exhausted {
		signal = canceled
	}
	to, err := next(state, signal)
	if err != nil {
		t.outcome = outcome{Status: StatusError, Final: t.outcome.Final, Error: fault.From(err)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.report.State = to, to
	return to, t
}

// perform does the work of one state and says what happened.
func (r *Run) perform(state State, t turn) (turn, Signal, error) {
	switch state {
	case Boot:
		return r.boot(t)
	case Ready:
		return r.ready(t)
	case ForcedTool, Tool:
		return r.act(t)
	case Loop:
		return r.loop(t)
	case Decide:
		return r.decide(t)
	case Reason:
		return t, done, nil
	case Snapshot:
		return r.snapshot(t)
	default: // Stuck
		return t, finish, nil
	}
}

func (r *Run) current() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// watchCancel ends the run when another process asks for it.
func (r *Run) watchCancel() {
	ticker := time.NewTicker(r.runtime.options.Memory.CancelPause())
	defer ticker.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-ticker.C:
			if r.runtime.options.Memory.Canceled(r.ID()) {
				r.cancel(errCanceled)
			}
		}
	}
}
