package agent

import (
	"context"
	"encoding/json"
	"errors"
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
	asked   time.Duration // how long the decision took
	step    memory.Step
	last    []memory.Call // of the step before
	traces  []trace
	notes   []string
	outcome outcome
	unsaved bool   // since the last snapshot
	saving  func() // waits for the snapshot that is written, and tells of it

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
		forcing: func() bool { return slices.Contains([]State{Boot, Ready, ForcedTool}, run.current()) }}
	run.box.forced = workflowTool
	if forced, known := find(r.options.Toolbox.Tools(), order.ForceTool); known {
		run.box.forced = forced.Name
	}
	return run
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
const pollCancel = 50 * time.Millisecond

// drive takes the run through its states to an end.
func (r *Run) drive() {
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

// loop is where each step begins.
func (r *Run) loop() (Signal, error) {
	if r.index >= r.order.MaxSteps {
		r.outcome = outcome{Status: StatusMaxSteps, Final: r.told(),
			Warning: "the limit of steps was reached before the goal was; this is what was found"}
		return exhausted, nil
	}
	return ask, nil
}

// decide asks what to do, and keeps the answer before anything follows from it.
func (r *Run) decide() (Signal, error) {
	r.begin(r.index + 1)
	stop := r.saveWhileAsking()
	asked := r.runtime.options.Now()
	intent, err := r.runtime.options.Client.Decide(r.ctx, r.request())
	stop()
	r.asked = r.runtime.options.Now().Sub(asked)
	if err != nil {
		if r.ctx.Err() != nil {
			return canceled, nil
		}
		r.recordStep(reasoning.Intent{Action: reasoning.ActionError, Error: err.Error()})
		return failed, err
	}
	r.intent = r.cleanIntent(intent)
	if err := r.keepDecision(); err != nil {
		return failed, err
	}
	return r.follow()
}

// begin makes a step the current one.
func (r *Run) begin(index int) {
	r.index, r.calls, r.pending, r.step = index, nil, nil, memory.Step{}
}

// follow tells of a decision and says what it leads to.
func (r *Run) follow() (Signal, error) {
	r.recordStep(r.intent)
	r.update(func(report *Report) {
		report.Model = r.intent.Model
		report.PromptTokens += r.intent.PromptTokens
		report.OutputTokens += r.intent.OutputTokens
	})
	switch r.intent.Action {
	case reasoning.ActionTool:
		r.prepare()
		return tool, nil
	case reasoning.ActionReason:
		return reason, nil
	case reasoning.ActionFinish:
		r.remember(memory.Step{Index: r.index, Action: string(reasoning.ActionFinish), Reasoning: r.intent.Reasoning})
		r.outcome = outcome{Status: StatusOK, Final: r.intent.Final}
		return finish, nil
	}
	r.remember(memory.Step{Index: r.index, Action: string(reasoning.ActionError), Reasoning: r.intent.Reasoning})
	return failed, fault.New(fault.ReasoningUnavailable, "nothing could be decided: %s", r.intent.Error)
}

// prepare lists the calls that a decision asks for.
func (r *Run) prepare() {
	r.calls = make([]memory.Call, len(r.intent.AllCalls()))
	r.pending = make([]bool, len(r.calls))
	for i := range r.pending {
		r.pending[i] = true
	}
}

// reason remembers a thought.
func (r *Run) reason() (Signal, error) {
	r.step = memory.Step{Index: r.index, Action: string(reasoning.ActionReason), Reasoning: r.intent.Reasoning}
	return done, nil
}

// snapshot remembers the step that was made and looks whether it led anywhere.
func (r *Run) snapshot() (Signal, error) {
	r.remember(r.step)
	r.save()
	if r.outcome.Status != "" {
		return finish, nil
	}
	if why := unfruitful(r.traces); why != "" {
		r.outcome = outcome{Status: StatusStuck, Final: r.told(), Warning: "the run was ended because " + why}
		return stuck, nil
	}
	return saved, nil
}

func (r *Run) remember(step memory.Step) {
	r.session.Remember(step)
	r.last = step.Calls
	r.traces = append(r.traces, traceOf(step))
	if len(r.traces) > 2*alternated {
		r.traces = r.traces[1:]
	}
	r.update(func(report *Report) { report.Steps = step.Index })
}

// save has the snapshot replaced: at once, or while the next question waits.
func (r *Run) save() {
	r.unsaved = true
	if r.runtime.options.SnapshotPause <= 0 {
		r.startSave()
	}
}

// saveWhileAsking replaces the snapshot when an answer takes long enough for
// it: it would stand in the way of the next sync of the journal otherwise. The
// function returned ends the waiting.
func (r *Run) saveWhileAsking() (stop func()) {
	if !r.unsaved {
		return func() {}
	}
	started := make(chan struct{})
	timer := time.AfterFunc(r.runtime.options.SnapshotPause, func() {
		defer close(started)
		r.startSave()
	})
	return func() {
		if !timer.Stop() {
			<-started
		}
	}
}

// startSave begins to replace the snapshot, and tells of the one before.
func (r *Run) startSave() {
	r.tellSaved()
	r.describe()
	wait, step := r.session.Save(), r.index
	r.unsaved = false
	r.saving = func() {
		kept, err := wait()
		if err != nil {
			r.runtime.options.Logger.Warn("the snapshot of a run is not written", "run", r.ID(), "cause", err.Error())
			r.event(telemetry.Event{Type: telemetry.Error, Step: step, Error: failure(err)})
			return
		}
		r.event(telemetry.Event{Type: telemetry.MemorySnapshot, Step: step, Status: "ok", Metadata: map[string]any{"steps": kept.Steps,
			"summarized": kept.Summarized, "errors": kept.Errors, "bytes": kept.Bytes}})
	}
}

// tellSaved waits until the snapshot is written and tells of it; what went
// wrong costs a warning, not the run.
func (r *Run) tellSaved() {
	if r.saving != nil {
		r.saving()
		r.saving = nil
	}
}

func (r *Run) describe() {
	status := r.outcome.Status
	if status == "" {
		status = StatusRunning
	}
	r.session.Describe(memory.Head{Goal: r.order.Goal, Status: string(status), Final: r.outcome.Final, Started: stamp(r.began),
		State: map[string]any{"state": string(r.current()), "persona": r.persona.Name, "max_steps": r.order.MaxSteps}})
}

// conclude writes how the run ended, and tells it.
func (r *Run) conclude() {
	if r.current() == Cancel {
		r.outcome = outcome{Status: StatusCanceled, Final: "Canceled by user"}
		if errors.Is(context.Cause(r.ctx), errClosed) {
			r.outcome = outcome{Status: StatusInterrupted}
		}
	}
	ended := r.outcome
	if err := r.session.Append(recordFinished, ended, memory.Durable); err != nil {
		ended.Warning = "how the run ended is not written: " + fault.From(err).Details
	}
	r.startSave()
	r.tellSaved()
	r.update(func(report *Report) {
		report.Status, report.Final, report.Warning, report.Error = ended.Status, ended.Final, ended.Warning, ended.Error
	})
	r.recordEnd(ended)
	if err := r.session.Close(); err != nil {
		r.runtime.options.Logger.Warn("the files of a run are not closed", "run", r.ID(), "cause", err.Error())
	}
}

// clean returns an error without secrets.
func (r *Run) clean(err error) *fault.Error {
	coded := fault.From(err)
	raw, failing := json.Marshal(coded)
	if failing != nil {
		return fault.New(coded.Code, "%s", r.runtime.redactor.Text(coded.Details))
	}
	cleaned := new(fault.Error)
	if json.Unmarshal(r.runtime.redactor.JSON(raw), cleaned) != nil {
		return fault.New(coded.Code, "%s", r.runtime.redactor.Text(coded.Details))
	}
	return cleaned
}
