package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
)

// Run is one order on its way.
type Run struct {
	runtime *Runtime
	session *memory.Session
	order   Order
	began   time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	endSpan func(telemetry.Event)
	ended   chan struct{}

	// Of the goroutine that drives the run alone.
	box     *guard
	prompts Prompts
	persona reasoning.Persona
	rules   []Rule
	repo    *reasoning.Repo
	index   int // the step that is being made
	intent  reasoning.Intent
	calls   []memory.Call // of this step, those that completed
	pending []bool        // of this step, those still to be made
	// withheld are the calls of this step, decided before the run was resumed,
	// whose arguments are not all there.
	withheld []int
	asked    time.Duration // how long the decision took
	step     memory.Step
	last     []memory.Call // of the step before
	traces   []trace
	notes    []string
	offer    offer
	untold   *history // of a run that goes on: what its trace may lack
	outcome  outcome
	unsaved  bool   // since the last snapshot
	saving   func() // waits for the snapshot that is written, and tells of it

	cache cache

	mu     sync.Mutex
	state  State
	report Report
	watch  chan struct{} // closed at the next change
}

// outcome is how a run ends.
type outcome struct {
	Status  Status       `json:"status"`
	Final   string       `json:"final,omitempty"`
	Warning string       `json:"warning,omitempty"`
	Error   *fault.Error `json:"error,omitempty"`
}

func (r *Runtime) newRun(order Order, session *memory.Session, began time.Time) *Run {
	ctx, cancel := context.WithCancelCause(r.ctx)
	run := &Run{runtime: r, session: session, order: order, began: began, ctx: ctx, cancel: cancel, ended: make(chan struct{}),
		cache: cache{calls: map[string]memory.Call{}}, state: Boot, watch: make(chan struct{}),
		report: Report{RunID: session.ID(), Status: StatusRunning, State: Boot, Goal: order.Goal}}
	policy := r.options.Policy
	policy.ReadOnly = policy.ReadOnly || order.ReadOnly
	policy.Allow = append(append([]string{}, policy.Allow...), order.Allow...)
	policy.Deny = append(append([]string{}, policy.Deny...), order.Deny...)
	run.box = &guard{box: r.options.Toolbox, policy: policy, cues: cuesOf(order.Goal),
		calls:   func() bool { return rules[run.current()].calls },
		forcing: run.forcing}
	run.box.forced = workflowTool
	if forced, known := find(r.options.Toolbox.Tools(), order.ForceTool); known {
		run.box.forced = forced.Name
	}
	return run
}

// forcing says whether the call being made is the forced one, also where a
// resumed run makes it again.
func (r *Run) forcing() bool {
	state := r.current()
	return slices.Contains([]State{Boot, Ready, ForcedTool}, state) || state == Tool && r.index == 1 && r.intent.Model == forcedBy
}

// ID returns the id of the run.
func (r *Run) ID() string { return r.session.ID() }

// Done is closed when the run has ended and everything of it is written.
func (r *Run) Done() <-chan struct{} { return r.ended }

// Cancel ends the run and keeps what it did.
func (r *Run) Cancel() { r.cancel(errCanceled) }

// Report returns how the run stands, with its transcript.
func (r *Run) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Transcript = r.session.Steps()
	return report
}

// Wait returns the report when the run has ended or ctx has, calling progress,
// which may be nil, after each step.
func (r *Run) Wait(ctx context.Context, progress func(Report)) Report {
	seen := -1
	for {
		r.mu.Lock()
		report, changed := r.report, r.watch
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

func (r *Run) current() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// update changes the report and wakes those who wait.
func (r *Run) update(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.report)
	close(r.watch)
	r.watch = make(chan struct{})
}

// pollCancel is how often a run looks for the wish of another process.
const pollCancel = 25 * time.Millisecond

// drive takes the run through its states to an end.
func (r *Run) drive() {
	r.traced()
	var watching sync.WaitGroup
	watching.Go(r.watchCancel)
	defer watching.Wait()
	defer r.cancel(nil)
	for state := r.current(); !state.ended(); state = r.current() {
		signal, err := r.perform(state)
		if err != nil {
			signal = failed
			r.outcome = outcome{Status: StatusFailed, Error: r.clean(err)}
			r.session.Fail(memory.Failure{Step: r.index, Code: r.outcome.Error.Code, Details: r.outcome.Error.Details})
		}
		if r.ctx.Err() != nil && signal != failed && signal != finish && signal != exhausted {
			signal = canceled
		}
		to, err := next(state, signal)
		if err != nil {
			r.outcome = outcome{Status: StatusFailed, Error: fault.From(err)}
		}
		r.enter(to)
	}
	r.conclude()
}

func (r *Run) enter(to State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.report.State = to, to
}

// perform does what is to be done in a state and returns what happened.
func (r *Run) perform(state State) (Signal, error) {
	switch state {
	case Boot:
		return r.boot()
	case Ready:
		return r.ready()
	case ForcedTool, Tool:
		return r.act()
	case Loop:
		return r.loop()
	case Decide:
		return r.decide()
	case Reason:
		return r.reason()
	case Snapshot:
		return r.snapshot()
	default: // Stuck
		return finish, nil
	}
}

// watchCancel ends the run when another process asks for it.
func (r *Run) watchCancel() {
	ticker := time.NewTicker(pollCancel)
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
