package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/redact"
	"savant/telemetry"
)

// Options configure a Runtime. Toolbox, Decider, Memory, Now and NewID are
// required.
type Options struct {
	Toolbox Toolbox
	Decider Decider
	// Project describes where the runs work; nil: nothing is known of it.
	Project Project
	// Display shows runs as they go on; nil: nobody looks.
	Display Display
	// Prices are what the tokens of models cost; nil: nobody knows.
	Prices Prices
	Memory *memory.Store
	// Recorder may be nil: then nothing is recorded.
	Recorder *telemetry.Recorder
	Policy   Policy
	// Dispatcher has another process drive the runs that tools start; nil drives them here.
	Dispatcher Dispatcher
	// Runs knows the runs of workflows; nil: none has rules.
	Runs Runs
	// DisableDetect stops a goal from selecting a workflow.
	DisableDetect bool
	// MaxSteps is the default bound of a run's decisions; 0 is DefaultMaxSteps. RetryLimit
	// bounds the retries of a failed call that may be repeated.
	MaxSteps, RetryLimit int
	// CacheFor is how long the result of a local tool that only reads answers the same
	// call; 0 makes each call anew.
	CacheFor time.Duration
	// TimeoutMS is the deadline sent to the Reasoning API, in milliseconds.
	TimeoutMS int
	// SnapshotPause debounces the snapshot: it is replaced when no step happened for this
	// long. 0 replaces it after each step.
	SnapshotPause time.Duration
	Now           func() time.Time
	NewID         func() string
	Logger        *slog.Logger
}

// DefaultPause is shorter than a model's answer takes, and longer than a scripted one.
const DefaultPause = 5 * time.Millisecond

// Bounds on concurrent runs, and on concurrent calls of one step.
const (
	maxRuns     = 8
	maxParallel = 8
)

// Runtime drives runs. It is safe for concurrent use.
type Runtime struct {
	options  Options
	redactor *redact.Redactor
	ctx      context.Context
	stop     context.CancelCauseFunc
	driving  sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*driven // by id
}

// driven is a run that this runtime drives, or is opening.
type driven struct {
	run    *Run          // nil until it is opened, and if it could not be
	opened chan struct{} // closed when run is known
}

// Why a run is ended from outside.
var (
	errCanceled = errors.New("canceled by user")
	errClosed   = errors.New("the program is stopping")
)

// New returns a runtime. Close ends it.
func New(options Options) *Runtime {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Project == nil {
		options.Project = unknownProject{}
	}
	redactor := redact.New()
	if options.Recorder != nil {
		redactor = options.Recorder.Redactor()
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &Runtime{options: options, redactor: redactor.Certain(), ctx: ctx, stop: stop, runs: map[string]*driven{}}
}

// Start begins a run. The run is independent of the caller: it lasts until it ends,
// Cancel or Close. The errors are INVALID_PARAMS, ENGINE_BUSY when too many runs go on,
// ID_COLLISION and STATE_NOT_SAVED.
func (r *Runtime) Start(options RunOptions) (*Run, error) {
	options, err := r.complete(options)
	if err != nil {
		return nil, err
	}
	return r.launch(options.RunID, func() (*Run, turn, error) {
		began := r.options.Now()
		session, err := r.create(options, began)
		if err != nil {
			return nil, turn{}, err
		}
		return r.newRun(options, session, began), turn{}, nil
	})
}

// complete fills in the defaults of a new run and validates its options.
func (r *Runtime) complete(options RunOptions) (RunOptions, error) {
	if options.MaxSteps == 0 {
		options.MaxSteps = r.options.MaxSteps
	}
	if err := options.check(); err != nil {
		return options, err
	}
	var err error
	if options.Allow, err = understood("allow", options.Allow, r.options.Toolbox); err != nil {
		return options, err
	}
	if options.Approve, err = understood("approve", options.Approve, r.options.Toolbox); err != nil {
		return RunOptions{}, err
	}
	if options.Deny, err = understood("deny", options.Deny, r.options.Toolbox); err != nil {
		return options, err
	}
	options.Goal = r.redactor.Text(options.Goal)
	if options.RunID == "" {
		options.RunID = r.options.NewID()
	}
	return options, nil
}

// create begins the session of a run.
func (r *Runtime) create(options RunOptions, began time.Time) (*memory.Session, error) {
	session, err := r.options.Memory.Create(options.RunID)
	if err != nil {
		return nil, err
	}
	session.OrderedBy(options.By, options.Claims)
	first := started{Options: options, Time: stamp(began)}
	first.Options.ForceArgs, first.Withheld = r.withoutSecrets(options.ForceArgs)
	if err := session.Append(recordStarted, first, memory.Durable); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return session, nil
}

// Resume resumes a run that was interrupted, cancelled or ended at its limit, from its
// last durable step: it repeats no decision that was received and no call that
// returned. With a new goal it goes on from any end; earlier steps and answers are
// remembered. A run that this runtime already drives is returned unchanged; a completed
// run without a new goal reports its end again. The errors are UNKNOWN_RUN,
// STATE_CONFLICT when another process runs it, STATE_CORRUPT, ENGINE_BUSY, and
// INVALID_TRANSITION for a new goal of a run that is still working on its own.
func (r *Runtime) Resume(order Order) (*Run, error) { return r.resume(order, nil) }

// resume implements Resume for a caller that may be asked about destructive calls.
func (r *Runtime) resume(order Order, asking *asking) (*Run, error) {
	id := order.RunID
	if run := r.opened(id); run != nil {
		if order.Goal != "" && order.Goal != run.options.Goal {
			return nil, fault.New(fault.InvalidTransition, "run %s still works on its goal: wait for its end, or cancel it, before you give it another goal", id)
		}
		return run, nil
	}
	approve, err := understood("approve", order.Approve, r.options.Toolbox)
	if err != nil {
		return nil, err
	}
	order.Approve = approve
	run, err := r.launch(id, func() (*Run, turn, error) {
		session, records, err := r.options.Memory.Resume(id)
		if err != nil {
			return nil, turn{}, err
		}
		run, t, err := r.restore(session, records, order, asking)
		if err != nil {
			return nil, turn{}, errors.Join(err, session.Close())
		}
		return run, t, nil
	})
	if errors.Is(err, fault.IDCollision) { // another caller resumes it now
		return r.resume(order, asking)
	}
	return run, err
}

// launch opens a run and drives it on a goroutine, if there is room for one more. The id
// is reserved first: opening may take long, and nobody else waits for it.
func (r *Runtime) launch(id string, open func() (*Run, turn, error)) (*Run, error) {
	reserved, err := r.reserve(id)
	if err != nil {
		return nil, err
	}
	run, t, err := open()
	r.mu.Lock()
	defer r.mu.Unlock()
	close(reserved.opened)
	if err != nil {
		delete(r.runs, id)
		r.driving.Done()
		return nil, err
	}
	reserved.run = run
	go func() {
		defer r.driving.Done()
		run.drive(t)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, id)
		close(run.ended)
	}()
	return run, nil
}

// reserve takes the id of a run for this runtime.
func (r *Runtime) reserve(id string) (*driven, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return nil, fault.New(fault.EngineOffline, "the program is stopping and starts no run")
	case r.runs[id] != nil:
		return nil, fault.New(fault.IDCollision, "run %s is already running", id)
	case len(r.runs) >= maxRuns:
		return nil, fault.New(fault.EngineBusy, "%d runs are already running; wait for one to end, or cancel one", len(r.runs))
	}
	reserved := &driven{opened: make(chan struct{})}
	r.runs[id] = reserved
	r.driving.Add(1)
	return reserved, nil
}

// running returns a run that this runtime drives, or nil.
func (r *Runtime) running(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reserved := r.runs[id]; reserved != nil {
		return reserved.run
	}
	return nil
}

// opened is running for a run that is about to be driven: it waits until it is opened.
func (r *Runtime) opened(id string) *Run {
	r.mu.Lock()
	reserved := r.runs[id]
	r.mu.Unlock()
	if reserved == nil {
		return nil
	}
	<-reserved.opened
	return r.running(id)
}

// Cancel ends a run of this or another process and keeps its results. It is idempotent.
// The errors are UNKNOWN_RUN, and INVALID_TRANSITION if the run ended in another way.
func (r *Runtime) Cancel(id string) error {
	if run := r.running(id); run != nil {
		run.cancel(errCanceled)
		return nil
	}
	report, err := r.Report(id)
	switch {
	case err != nil:
		return err
	case report.open():
		return r.options.Memory.Cancel(id)
	case report.Status == StatusCanceled:
		return nil
	case report.Status == StatusInterrupted:
		return fault.New(fault.InvalidTransition, "run %s was interrupted: there is nothing to cancel", id)
	}
	return fault.New(fault.InvalidTransition, "run %s has ended already (%s): there is nothing to cancel", id, report.Status)
}

// Report returns the report of a run, whichever process drives it, or UNKNOWN_RUN.
func (r *Runtime) Report(id string) (Report, error) {
	if run := r.running(id); run != nil {
		return run.Report(), nil
	}
	report, err := r.recorded(id)
	if err == nil {
		err = r.stand(&report)
	}
	if err != nil || report.Status != StatusInterrupted {
		return report, err
	}
	// It may have ended after its journal was read and before its claim was.
	if again, err := r.recorded(id); err == nil && again.Status != StatusInterrupted {
		return again, nil
	}
	return report, nil
}

// Step returns a step of a run, as its records have it: an empty one of a step that is not
// there or goes on. UNKNOWN_RUN, STATE_CORRUPT.
func (r *Runtime) Step(id string, step int) (memory.Step, error) {
	records, err := r.options.Memory.StepRecords(id, step)
	h := history{calls: map[int]map[int]memory.Call{}, begun: map[begunRecord]bool{}}
	for _, each := range records {
		if err := h.add(each); err != nil {
			return memory.Step{}, memory.Damaged(id, fmt.Errorf("record %d: %w", each.Number, err))
		}
	}
	for _, each := range slices.Backward(h.decisions) {
		if t := h.turn(each); len(t.asked) == 0 {
			return t.step(), err
		}
	}
	return memory.Step{}, err
}

// recorded returns the report of a run by its journal alone: a run without an end record
// is interrupted.
func (r *Runtime) recorded(id string) (Report, error) {
	records, err := r.options.Memory.Records(id)
	if err != nil {
		return Report{}, err
	}
	return reportOf(id, records)
}

// Exchange returns what a model was asked in a run and what it wrote, by the digest in the
// run's events: UNKNOWN_RUN, STATE_CORRUPT.
func (r *Runtime) Exchange(id, digest string) (memory.Exchange, error) {
	return r.options.Memory.Exchange(id, digest)
}

// List returns all runs, the last changed first, without their transcripts.
func (r *Runtime) List(ctx context.Context) ([]Report, error) {
	snapshots, err := r.options.Memory.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Report, 0, len(snapshots))
	for _, each := range snapshots {
		if each.Unread != "" {
			list = append(list, r.withoutSnapshot(each))
			continue
		}
		report := reportOfSnapshot(each)
		if report.Status == StatusRunning && r.running(report.RunID) == nil {
			report.Status = StatusInterrupted
			if err := r.stand(&report); err != nil && !errors.Is(err, fault.UnknownRun) {
				return nil, err
			}
			r.readEnd(&report)
		}
		list = append(list, report)
	}
	return list, nil
}

// withoutSnapshot returns the report of a run whose snapshot is not read, by its journal.
func (r *Runtime) withoutSnapshot(snapshot memory.Snapshot) Report {
	report, err := r.recorded(snapshot.SessionID)
	if err != nil {
		return Report{RunID: snapshot.SessionID, Status: StatusError, Warning: snapshot.Unread, Error: fault.From(err)}
	}
	report.Warning, report.Transcript = snapshot.Unread, nil
	return report
}

// readEnd completes the report of a run whose snapshot says that it is running, from the
// end record of its journal. The two differ if the driver was lost between writing the
// end and the last snapshot.
func (r *Runtime) readEnd(report *Report) {
	if report.Status != StatusInterrupted || !r.options.Memory.Shared() {
		return
	}
	if read, err := r.recorded(report.RunID); err == nil {
		report.Status, report.Steps, report.Final = read.Status, read.Steps, read.Final
	}
}

// Pruned is a run that Prune removed.
type Pruned struct {
	RunID   string `json:"run_id"`
	Status  Status `json:"status"`
	Updated string `json:"updated"`
}

// Prune permanently removes the ended runs whose last change was before a time; with
// dry it only lists them. Interrupted runs can be resumed, so they are kept.
func (r *Runtime) Prune(ctx context.Context, before time.Time, dry bool) ([]Pruned, error) {
	removed := []Pruned{}
	list, err := r.List(ctx)
	for _, each := range list {
		at, unreadable := time.Parse(time.RFC3339Nano, each.Updated)
		if each.open() || each.Status == StatusInterrupted || unreadable != nil || !at.Before(before) {
			continue
		}
		if !dry {
			err := r.options.Memory.Remove(ctx, each.RunID)
			if errors.Is(err, fault.StateConflict) {
				continue // it was resumed meanwhile
			}
			if err != nil {
				return removed, err
			}
		}
		removed = append(removed, Pruned{each.RunID, each.Status, each.Updated})
	}
	return removed, err
}

// Close interrupts every run, so that they can be resumed, and waits for their
// goroutines. A tool that ignores its context is abandoned: it ends with the program.
func (r *Runtime) Close() {
	r.mu.Lock()
	r.stop(errClosed)
	r.mu.Unlock()
	r.driving.Wait()
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
