// Package workflow drives a workflow without a client: it gets instructions from Think,
// executes them with the available tools, and hands in the results, until the run has
// ended or waits for somebody else.
package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/engines"
	"savant/engines/guide"
	"savant/fault"
	"savant/think"
)

// Toolbox calls tools; *engines.Registry implements it.
type Toolbox interface {
	// Invoke calls a tool and returns soon after ctx has ended. UNKNOWN_TOOL and
	// ENGINE_BUSY mean that the call had no effect: another client may have the tool,
	// or the call is repeated later. Any other error fails the attempt. The result's
	// JSON must not be modified. Invoke is called concurrently.
	Invoke(ctx context.Context, call engines.Call, name string, args json.RawMessage) (engines.Result, error)
}

// Question is an llm.generate step for a model to answer.
type Question struct {
	Workflow, RunID, StepID string
	// Input is the instruction's input, {task, …}; Schema is the schema of the answer,
	// empty if any answer fits.
	Input, Schema json.RawMessage
	// Attempt counts from 1; Diagnostics say what was wrong with the previous answer.
	// Issued is the version of the run that issued the step.
	Attempt     int
	Issued      int
	Diagnostics []fault.Diagnostic
	// Warn adds a warning for a person to the answer, and to the Outcome: the model did
	// not see all of the input. seen has the texts of the input that were cut: how many of
	// their first lines it saw. It must not be called after Generate has returned.
	Warn func(text string, seen map[string]int)
	// Complex: the step is flagged so.
	Complex bool
	// Used takes what the models took that were asked.
	Used *Usage
}

// Usage is what models took: their tokens as far as they were counted, and their cost.
type Usage struct {
	PromptTokens int `json:"prompt_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
	engines.Spent
	// Models are those of the calls, for whoever asks later who answered.
	Models []ModelUsage `json:"models,omitempty"`
}

// ModelUsage is what one model took. Remote: a service called it, and said so.
type ModelUsage struct {
	Model        string `json:"model"`
	Calls        int    `json:"calls"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	Remote       bool   `json:"remote,omitempty"`
}

// Add adds the usage of another call.
func (u *Usage) Add(more Usage) {
	for _, each := range more.Models {
		at := slices.IndexFunc(u.Models, func(usage ModelUsage) bool { return usage.Model == each.Model && usage.Remote == each.Remote })
		if at < 0 {
			u.Models = append(u.Models, each)
			continue
		}
		usage := &u.Models[at]
		usage.Calls, usage.PromptTokens, usage.OutputTokens = usage.Calls+each.Calls, usage.PromptTokens+each.PromptTokens, usage.OutputTokens+each.OutputTokens
	}
	u.PromptTokens += more.PromptTokens
	u.OutputTokens += more.OutputTokens
	u.Spent.Add(more.Spent)
}

// Describe returns the usage for a person; "" if nothing is known. money formats an
// amount.
func (u Usage) Describe(money func(float64) string) string {
	var parts []string
	if u.PromptTokens+u.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("tokens %d+%d", u.PromptTokens, u.OutputTokens))
	}
	if cost := u.Spent.Describe(money); cost != "" {
		parts = append(parts, "cost "+cost)
	}
	return strings.Join(parts, ", ")
}

// Generate answers a Question with JSON, or with text that contains JSON. It returns
// soon after ctx has ended and is called concurrently. REASONING_UNAVAILABLE,
// LIMIT_EXCEEDED and ErrNoModel leave the step to another model, which may have more
// room. Any other error fails the attempt.
type Generate func(context.Context, Question) (json.RawMessage, error)

// Options configure a Driver. Think and Toolbox are required.
type Options struct {
	Think   *think.Engine
	Toolbox Toolbox
	// Generate is nil if no Reasoning API is configured: a run then stops at
	// llm.generate.
	Generate Generate
	Logger   *slog.Logger
	// Claim takes the claim on a run, so that only one program makes its calls, until
	// release is called. It returns STATE_CONFLICT if another program has the claim.
	// Nil: no claims.
	Claim func(ctx context.Context, workflow, run string) (release func(), err error)
	// Drives is the maximum number of concurrent drives, without the runs of child
	// workflows; 0 means 16.
	Drives int
}

const defaultDrives = 16

// Driver drives runs, each at most once at a time. It is safe for concurrent use.
type Driver struct {
	Options
	mu     sync.Mutex
	drives map[engines.Run]*drive
	top    int // drives that no other drive waits for
	closed bool
}

// New returns a Driver, which must be closed before its Think.
func New(options Options) *Driver {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Drives == 0 {
		options.Drives = defaultDrives
	}
	return &Driver{Options: options, drives: map[engines.Run]*drive{}}
}

// errStopping is the cause when the program stops its drives.
var errStopping = errors.New("the program is stopping")

// Interrupt makes every drive end soon, and lets no other begin. It does not wait;
// Close does.
func (d *Driver) Interrupt() {
	for _, each := range d.ending() {
		each.interrupt(errStopping)
	}
}

// Close interrupts every drive and returns when all have ended. Their runs can be
// continued.
func (d *Driver) Close() {
	d.Interrupt()
	for _, each := range d.ending() {
		<-each.over
	}
}

// ending closes the Driver and returns its current drives.
func (d *Driver) ending() []*drive {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return slices.Collect(maps.Values(d.drives))
}

// Request names a workflow to run, or a run to continue.
type Request struct {
	// Workflow is a name or name@version; optional if RunID names an existing run.
	Workflow string
	Params   map[string]any
	// RunID continues a run, or names a new one.
	RunID string
	// Wait is the maximum time to wait for the outcome; 0: no limit.
	Wait time.Duration
}

// Run drives a run until it has ended or waits for somebody, or the wait is over. In
// the last case the drive continues, and another Run joins it. watch is called for each
// step, never concurrently and never after Run has returned.
//
// When ctx ends, the drive is interrupted, current steps stay unanswered, and Run
// returns the run's position with the cause; other calls that wait for the drive return
// the same without an error. Errors are those of think.plan, and: STATE_CONFLICT if
// another program drives or answers the run, ENGINE_BUSY at the limit of drives,
// ENGINE_OFFLINE if the Driver is closed, LIMIT_EXCEEDED and CYCLIC_DEPENDENCY for a
// workflow that runs itself, STATE_NOT_SAVED, STATE_CORRUPT.
func (d *Driver) Run(ctx context.Context, call engines.Call, in Request, watch func(Event)) (*Outcome, error) {
	if err := checkDepth(call); err != nil {
		return nil, err
	}
	at, err := d.find(ctx, call, in)
	if err != nil {
		return nil, err
	}
	call.Task.Begin(at.RunID)
	for {
		drive, watching, err := d.join(call, at, watch)
		if err != nil {
			return nil, err
		}
		outcome, err := drive.await(ctx, in.Wait, watching)
		if err != nil || !d.ask(ctx, call, outcome) {
			return outcome, err
		}
	}
}

// find returns the requested run, planning a new one if needed.
func (d *Driver) find(ctx context.Context, call engines.Call, in Request) (engines.Run, error) {
	if in.RunID != "" && in.Params == nil {
		at, err := d.Think.Position(ctx, in.Workflow, in.RunID)
		if err == nil {
			return engines.Run{Workflow: at.Workflow, RunID: at.RunID}, nil
		}
		if !errors.Is(err, fault.UnknownRun) || in.Workflow == "" {
			return engines.Run{}, err
		}
	}
	run := in.RunID
	if run == "" {
		run = d.Think.NewID()
	}
	// Nobody is asked here: questions are asked when the run can go no further.
	caller := guide.Caller(call)
	caller.Ask = nil
	_, refused := d.Think.Plan(ctx, think.PlanInput{Workflow: in.Workflow, Params: in.Params, RunID: run, Driven: true, Caller: caller})
	if errors.Is(refused, fault.StateConflict) {
		return engines.Run{}, refused
	}
	at, err := d.Think.Position(context.WithoutCancel(ctx), in.Workflow, run) // a planned run must be reported
	if err == nil {
		return engines.Run{Workflow: at.Workflow, RunID: at.RunID}, nil // also a blocked run
	}
	if refused != nil {
		return engines.Run{}, refused
	}
	return engines.Run{}, err
}

// join returns the drive of a run, starting one if needed, and the caller's watcher,
// which is added before the start so that it misses no event.
func (d *Driver) join(call engines.Call, at engines.Run, watch func(Event)) (*drive, *watcher, error) {
	if err := checkCycle(call, at); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	running := d.drives[at]
	switch {
	case d.closed:
		return nil, nil, fault.New(fault.EngineOffline, "the program is stopping; run %s can be continued", at.RunID)
	case running != nil && len(call.Waiting) > 0:
		// Two runs that wait for each other would wait forever.
		return nil, nil, fault.New(fault.StateConflict, "run %s is already being driven: a workflow cannot wait for it", at.RunID)
	case running != nil:
		return running, running.enter(watch), nil
	case len(call.Waiting) == 0 && d.top >= d.Drives:
		return nil, nil, fault.New(fault.EngineBusy, "%d runs are already being driven; run %s waits: call again with its run_id", d.top, at.RunID)
	}
	begun := newDrive(call, d, at)
	d.drives[at] = begun
	if begun.top {
		d.top++
	}
	watching := begun.enter(watch)
	go begun.run()
	return begun, watching, nil
}

// forget removes an ended drive.
func (d *Driver) forget(ended *drive) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.drives, ended.at)
	if ended.top {
		d.top--
	}
}

// ask asks the client's user about a step that waits for a person, if the client can,
// and reports whether the run moved on.
func (d *Driver) ask(ctx context.Context, call engines.Call, outcome *Outcome) bool {
	if call.Person == nil || outcome.Pending == nil || outcome.Pending.For != ForPerson {
		return false
	}
	reply, err := d.Think.Next(ctx, think.NextInput{Workflow: outcome.Workflow, RunID: outcome.RunID, StepID: outcome.Pending.StepID, Caller: guide.Caller(call)})
	if err != nil {
		d.Logger.InfoContext(ctx, "a question was not answered", "run", outcome.RunID, "step", outcome.Pending.StepID, "error", err)
		at, err := d.Think.Position(ctx, outcome.Workflow, outcome.RunID) // it may have been the question after that
		return err == nil && at.Version > outcome.version
	}
	return reply.State.Version > outcome.version
}
