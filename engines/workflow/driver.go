// Package workflow drives a workflow without a client: it asks Think what
// comes next, carries it out with the tools there are, and hands in what came
// of it, until the run is over or waits for somebody else.
package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/think"
)

// Toolbox calls tools. *engines.Registry is one.
type Toolbox interface {
	// Invoke calls a tool and returns soon after ctx has ended. UNKNOWN_TOOL
	// and ENGINE_BUSY mean that nothing was done: another client may have the
	// tool, or it is called again after a while. Any other error fails the
	// step's attempt. The result's JSON stays the
	// toolbox's: nobody changes it. Invoke is called by several goroutines at
	// once.
	Invoke(ctx context.Context, name string, args json.RawMessage) (engines.Result, error)
}

// Question is an llm.generate step, for the model that answers it.
type Question struct {
	Workflow, RunID, StepID string
	// Input is the instruction's input, {task, …}; Schema is what the answer
	// has to fit, empty where anything does.
	Input, Schema json.RawMessage
	Rationale     string
	// Attempt counts from 1; Diagnostics say what was wrong with the last one. Issued
	// is the version of the run that handed the step out.
	Attempt     int
	Issued      int
	Diagnostics []fault.Diagnostic
	// Warn takes a sentence about the answer that a person should read, for example
	// that the input was cut. It stands in the Outcome of the drive.
	Warn func(string)
}

// Generate answers a Question with JSON, or with text that holds it. It returns
// soon after ctx has ended, and is called by several goroutines at once.
// REASONING_UNAVAILABLE and LIMIT_EXCEEDED leave the step to somebody else: another
// model, or one with more room, can answer it. So does ErrNoModel. Any other error fails its attempt.
type Generate func(context.Context, Question) (json.RawMessage, error)

// Options are what a Driver is made of. Think and Toolbox are required.
type Options struct {
	Think   *think.Engine
	Toolbox Toolbox
	// Generate is nil where no Reasoning API is configured: a run then stops
	// at llm.generate.
	Generate Generate
	Logger   *slog.Logger
	// Claim keeps other programs from driving a run until release is called:
	// both would make its calls. nil: nothing does. STATE_CONFLICT where another
	// program drives it already.
	Claim func(ctx context.Context, workflow, run string) (release func(), err error)
	// Drives is how many runs are driven at once, those that a driven workflow
	// runs apart; 0 is 16.
	Drives int
}

const defaultDrives = 16

// Driver drives runs, each once at a time. All methods may be called at once.
type Driver struct {
	Options
	mu     sync.Mutex
	drives map[place]*drive
	top    int // of drives, those that no drive waits for
	closed bool
}

// place names a run.
type place struct{ workflow, run string }

// New returns a Driver. Close it before its Think.
func New(options Options) *Driver {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Drives == 0 {
		options.Drives = defaultDrives
	}
	return &Driver{Options: options, drives: map[place]*drive{}}
}

// errStopping is why drives end when the program does.
var errStopping = errors.New("the program stops")

// Interrupt begins what Close waits for: every drive ends soon, and no other
// begins. It does not wait.
func (d *Driver) Interrupt() {
	for _, each := range d.ending() {
		each.interrupt(errStopping)
	}
}

// Close interrupts every drive and returns when they have ended. Their runs
// can be continued.
func (d *Driver) Close() {
	d.Interrupt()
	for _, each := range d.ending() {
		<-each.over
	}
}

// ending closes the Driver and returns the drives there still are.
func (d *Driver) ending() []*drive {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return slices.Collect(maps.Values(d.drives))
}

// Request names a workflow to run, or a run to go on with.
type Request struct {
	// Workflow is a name or name@version. It may be left out where RunID names
	// a run that exists.
	Workflow string
	Params   map[string]any
	// RunID continues a run, or names a new one.
	RunID string
	// Wait is how long to wait for the outcome; 0: as long as it takes.
	Wait time.Duration
}

// Run drives a run until it is over or waits for somebody, or until the wait is
// over: it then goes on by itself, and Run again joins it. Who watches is told
// of each step, never by two goroutines at once, nor after Run has returned.
//
// When ctx ends the drive is interrupted, with the steps it was at unanswered,
// and Run returns where the run stands with the cause of the end; another call
// that waited returns the same without an error. Errors are
// those of think.plan, and: STATE_CONFLICT when another program drives the run,
// or answers it otherwise, ENGINE_BUSY when too many are driven, ENGINE_OFFLINE when the
// Driver is closed, LIMIT_EXCEEDED and CYCLIC_DEPENDENCY for a workflow that
// runs itself, STATE_NOT_SAVED, STATE_CORRUPT.
func (d *Driver) Run(ctx context.Context, in Request, watch func(Event)) (*Outcome, error) {
	if err := callStackOf(ctx).checkDepth(); err != nil {
		return nil, err
	}
	at, err := d.find(ctx, in)
	if err != nil {
		return nil, err
	}
	for {
		drive, watching, err := d.join(ctx, at, watch)
		if err != nil {
			return nil, err
		}
		outcome, err := drive.await(ctx, in.Wait, watching)
		if err != nil || !d.ask(ctx, outcome) {
			return outcome, err
		}
	}
}

// find returns the run that is meant, planned where it is new.
func (d *Driver) find(ctx context.Context, in Request) (place, error) {
	if in.RunID != "" && in.Params == nil {
		at, err := d.Think.Position(ctx, in.Workflow, in.RunID)
		if err == nil {
			return place{at.Workflow, at.RunID}, nil
		}
		if !errors.Is(err, fault.UnknownRun) || in.Workflow == "" {
			return place{}, err
		}
	}
	run := in.RunID
	if run == "" {
		run = d.Think.NewID()
	}
	silent := engines.WithCaller(ctx, engines.Caller{}) // it asks nobody: that comes when the run gets no further
	_, refused := d.Think.Plan(silent, think.PlanInput{Workflow: in.Workflow, Params: in.Params, RunID: run, Driven: true})
	if errors.Is(refused, fault.StateConflict) {
		return place{}, refused
	}
	at, err := d.Think.Position(context.WithoutCancel(ctx), in.Workflow, run) // one that was planned is told of
	if err == nil {
		return place{at.Workflow, at.RunID}, nil // a run that is blocked is one, too
	}
	if refused != nil {
		return place{}, refused
	}
	return place{}, err
}

// join returns the drive of a run, begun where there is none, and the place of
// who watches it: taken before it begins, so that nothing is missed.
func (d *Driver) join(ctx context.Context, at place, watch func(Event)) (*drive, *watcher, error) {
	above := callStackOf(ctx)
	if err := above.checkCycle(at); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	running := d.drives[at]
	switch {
	case d.closed:
		return nil, nil, fault.New(fault.EngineOffline, "the program stops; run %s can be continued", at.run)
	case running != nil && len(above) > 0:
		// Two runs that wait for each other would wait for ever.
		return nil, nil, fault.New(fault.StateConflict, "run %s is being driven already: a workflow cannot wait for it", at.run)
	case running != nil:
		return running, running.enter(watch), nil
	case len(above) == 0 && d.top >= d.Drives:
		return nil, nil, fault.New(fault.EngineBusy, "%d runs are being driven already; run %s waits: call again with its run_id", d.top, at.run)
	}
	begun := newDrive(ctx, d, at)
	d.drives[at] = begun
	if begun.top {
		d.top++
	}
	watching := begun.enter(watch)
	go begun.run()
	return begun, watching, nil
}

// forget takes a drive that has ended out of the list.
func (d *Driver) forget(ended *drive) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.drives, ended.at)
	if ended.top {
		d.top--
	}
}

// ask puts a step that waits for a person to the one behind the client, where
// it can, and says whether that moved the run on.
func (d *Driver) ask(ctx context.Context, outcome *Outcome) bool {
	if engines.CallerFrom(ctx).Elicit == nil || outcome.Pending == nil || outcome.Pending.For != ForPerson {
		return false
	}
	reply, err := d.Think.Next(ctx, think.NextInput{Workflow: outcome.Workflow, RunID: outcome.RunID, StepID: outcome.Pending.StepID})
	if err != nil {
		d.Logger.InfoContext(ctx, "a question was not answered", "run", outcome.RunID, "step", outcome.Pending.StepID, "error", err)
		at, err := d.Think.Position(ctx, outcome.Workflow, outcome.RunID) // it may have been the question after that
		return err == nil && at.Version > outcome.version
	}
	return reply.State.Version > outcome.version
}
