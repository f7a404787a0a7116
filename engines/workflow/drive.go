package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
)

// drive is the execution of one run. It belongs to the Driver and outlives the call
// that began it.
type drive struct {
	driver *Driver
	at     engines.Run
	top    bool // no other drive waits for this one
	// release ends the claim that keeps other programs from driving the run.
	release func()

	ctx       context.Context
	call      engines.Call // of its steps
	interrupt context.CancelCauseFunc
	// over is closed at the end, after outcome and err are set.
	over    chan struct{}
	outcome *Outcome
	err     error

	mu       sync.Mutex // held while watchers are notified
	watchers map[*watcher]bool
	last     *think.Position
	warnings []engines.Warning
	usage    Usage
}

// watcher is a waiting call that receives events.
type watcher struct{ tell func(Event) }

// newDrive returns a drive that outlives the call but keeps its guards.
func newDrive(call engines.Call, d *Driver, at engines.Run) *drive {
	v := &drive{driver: d, at: at, top: len(call.Waiting) == 0, release: func() {}, over: make(chan struct{}), watchers: map[*watcher]bool{}}
	v.call = call.Detached()
	v.call.Identity, v.call.Waiting = call.Identity, append(slices.Clone(call.Waiting), at)
	v.ctx, v.interrupt = context.WithCancelCause(context.Background())
	return v
}

func (v *drive) run() {
	defer close(v.over)
	defer v.driver.forget(v)
	defer v.interrupt(nil)
	v.outcome, v.err = v.work()
	if v.outcome != nil {
		v.outcome.Usage = v.used(Usage{})
		for _, each := range v.warned() {
			v.outcome.Warnings = append(v.outcome.Warnings, each.Text)
		}
	}
	if v.err != nil && !v.interrupted() {
		v.driver.Logger.WarnContext(v.ctx, "a run is no longer driven", "workflow", v.at.Workflow, "run", v.at.RunID, "error", v.err)
	}
}

// used adds to what models took, and returns the sum.
func (v *drive) used(more Usage) Usage {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.usage.Add(more)
	return v.usage
}

// await waits for the end of the drive, at most as long as the caller does.
func (v *drive) await(ctx context.Context, wait time.Duration, watching *watcher) (*Outcome, error) {
	defer v.leave(watching)
	var enough <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-v.over:
	case <-enough:
		return v.running(), nil
	case <-ctx.Done():
		v.interrupt(context.Cause(ctx))
		<-v.over
	}
	if ctx.Err() == nil && v.outcome != nil && v.interrupted() {
		return v.outcome, nil // another caller interrupted it
	}
	return v.outcome, v.err
}

// interrupted reports whether the drive ended because it was interrupted.
func (v *drive) interrupted() bool { return v.err != nil && errors.Is(v.err, context.Cause(v.ctx)) }

func (v *drive) enter(watch func(Event)) *watcher {
	w := &watcher{watch}
	v.mu.Lock()
	defer v.mu.Unlock()
	if watch != nil {
		v.watchers[w] = true
	}
	return w
}

func (v *drive) leave(w *watcher) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.watchers, w)
}

func (v *drive) emit(event Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for each := range v.watchers {
		each.tell(event)
	}
}

// warn notes the warnings of a step's answer, which was recorded with them, in the place
// of those of an earlier answer.
func (v *drive) warn(stepID string, warnings []think.Warning) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = slices.DeleteFunc(v.warnings, func(w engines.Warning) bool { return w.StepID == stepID })
	for _, each := range warnings {
		v.warnings = append(v.warnings, engines.Warning{StepID: stepID, Text: each.Text, Seen: each.Seen})
	}
}

func (v *drive) warned() []engines.Warning {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.warnings)
}

// remember reads the warnings of a run that an earlier drive began, and what its models
// took.
func (v *drive) remember(ctx context.Context) error {
	recorded, used, err := v.driver.Think.Remembered(ctx, v.at.Workflow, v.at.RunID)
	if err != nil {
		return err
	}
	for _, each := range recorded {
		v.warn(each.StepID, each.Warnings)
	}
	for _, each := range used {
		var took Usage
		if json.Unmarshal(each, &took) == nil { // a later version may say it otherwise
			v.used(took)
		}
	}
	return nil
}

// running is the outcome for a caller that stops waiting while the drive continues.
func (v *drive) running() *Outcome {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := &Outcome{Status: Running, RunID: v.at.RunID, Workflow: v.at.Workflow,
		Note: "The run goes on. Call workflow.workflow_run again with this run_id to wait for it."}
	if v.last != nil {
		out.Steps = v.last.Ran
	}
	return out
}

// position returns the position of the run.
func (v *drive) position(ctx context.Context) (*think.Position, error) {
	at, err := v.driver.Think.Position(ctx, v.at.Workflow, v.at.RunID)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = at
	return at, nil
}

// work drives the run until it has ended or waits for somebody else. When it returns,
// all its calls have ended and late results are handed in.
func (v *drive) work() (*Outcome, error) {
	defer func() { v.release() }()
	workers := newWorkers(v)
	outcome, err := v.follow(workers)
	workers.stop()
	if err == nil {
		return outcome, nil
	}
	if v.ctx.Err() != nil { // has priority over errors that it caused
		err = context.Cause(v.ctx)
	}
	return v.interruptedOutcome(), err
}

// lookAgain is how often a drive with long calls checks whether somebody else moved or
// cancelled the run.
const lookAgain = time.Second

// follow executes the run's instructions until it has ended or all of them wait for
// somebody else.
func (v *drive) follow(workers *workers) (*Outcome, error) {
	if err := v.remember(v.ctx); err != nil {
		return nil, err
	}
	others := time.NewTicker(lookAgain)
	defer others.Stop()
	for claimed := v.driver.Claim == nil; ; {
		at, err := v.position(v.ctx)
		if err != nil {
			return nil, err
		}
		if at.Blocked != nil || at.Final != nil {
			return outcomeOf(at), nil
		}
		if !claimed {
			release, err := v.driver.Claim(v.ctx, v.at.Workflow, v.at.RunID)
			if err != nil {
				return nil, err
			}
			v.release, claimed = release, true
			continue // it may have moved on meanwhile
		}
		workers.follow(at.Outstanding)
		if len(workers.busy) == 0 {
			return waiting(at, workers.left), nil
		}
		select {
		case done := <-workers.done:
			err = v.handIn(workers, done)
		case <-others.C:
		case <-v.ctx.Done():
			err = context.Cause(v.ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// interruptedOutcome is the outcome of an interrupted drive; nil if it cannot be read.
func (v *drive) interruptedOutcome() *Outcome {
	at, err := v.position(context.WithoutCancel(v.ctx))
	switch {
	case err != nil:
		return nil
	case at.Blocked != nil || at.Final != nil:
		return outcomeOf(at)
	}
	return newOutcome(at, Interrupted, "The run can be continued: call workflow.workflow_run again with this run_id.")
}

// handIn hands in the result of an instruction and reports what the run made of it.
func (v *drive) handIn(workers *workers, done finished) error {
	delete(workers.busy, done.next.StepID)
	if done.void { // the run went on without it
		return nil
	}
	event := Event{Kind: Left, StepID: done.next.StepID, Call: done.next.Call, Attempt: done.next.Attempt, Elapsed: done.elapsed}
	var refused *fault.Error
	if done.left == nil {
		var err error
		if refused, done.left, err = v.give(done); err != nil {
			return err
		}
	}
	if done.left != nil {
		workers.left[done.next.StepID], event.Why = *done.left, done.left.why
		v.emit(event)
		return nil
	}
	return v.tellSettled(event, done.next, refused)
}

// tellSettled reports what the run made of a result.
func (v *drive) tellSettled(event Event, next flow.Instruction, refused *fault.Error) error {
	if _, err := v.position(v.ctx); err != nil {
		return err
	}
	explained, err := v.driver.Think.Explain(v.ctx, think.ExplainInput{Workflow: v.at.Workflow, RunID: v.at.RunID, StepID: next.StepID})
	if err != nil {
		return err
	}
	event.Kind, event.Status, event.Why = Settled, explained.Status, whyFailed(explained)
	if refused != nil && explained.Status != flow.Done { // else it blocks the run, which the outcome reports
		event.Why = refused.Error()
	}
	if explained.Status == flow.Issued {
		event.Kind, event.Wait = Refused, pauseBefore(next.Backoff, explained.Attempt)
	}
	v.emit(event)
	return nil
}

func whyFailed(explained *flow.Explanation) string {
	for _, each := range explained.Why {
		if code, is := each.Value.(fault.Code); is && each.Kind == "failure" {
			return string(code) + ": " + each.Message
		}
	}
	return ""
}
