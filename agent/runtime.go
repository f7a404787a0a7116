package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/redact"
	"savant/reasoning"
	"savant/telemetry"
)

// Options are what a Runtime is made of. Toolbox, Client, Memory, Now and
// NewID are required.
type Options struct {
	Toolbox Toolbox
	Client  *reasoning.Client
	// Decider says in a status line who decides; it holds no secret.
	Decider string
	Memory  *memory.Store
	// Recorder may be nil: then nothing is recorded.
	Recorder *telemetry.Recorder
	Policy   Policy
	// Prompts, Repo and Workflows are read when a run starts; nil: nothing is
	// known. Their errors are warnings: a run needs none of them.
	Prompts   func(context.Context) (Prompts, error)
	Repo      func(context.Context) (*reasoning.Repo, error)
	Workflows func(context.Context) ([]string, error)
	// DisableDetect: a goal never leads to a workflow by itself.
	DisableDetect bool
	// SnapshotPause is how long an answer is waited for before the snapshot of
	// the step before is written meanwhile; 0 writes it at once. What a run goes
	// on from is its journal, in either case.
	SnapshotPause time.Duration
	// TimeoutMS is told to the Reasoning API as the time it has.
	TimeoutMS int
	Now       func() time.Time
	NewID     func() string
	Logger    *slog.Logger
}

// DefaultPause is shorter than any model takes, and longer than a script.
const DefaultPause = 5 * time.Millisecond

// Bounds of a runtime: runs at once, and calls of one step at once.
const (
	maxRuns     = 8
	maxParallel = 8
)

// Runtime runs orders. It may be used by several goroutines at once.
type Runtime struct {
	options  Options
	redactor *redact.Redactor // for what a model works with
	ctx      context.Context
	stop     context.CancelCauseFunc
	driving  sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*Run // those that go on
}

// Why a run ends before its time.
var (
	errCanceled = errors.New("canceled by user")
	errClosed   = errors.New("the program ends")
)

// New returns a runtime. Close ends it.
func New(options Options) *Runtime {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	redactor := redact.New()
	if options.Recorder != nil {
		redactor = options.Recorder.Redactor()
	}
	ctx, stop := context.WithCancelCause(context.Background())
	return &Runtime{options: options, redactor: redactor.Certain(), ctx: ctx, stop: stop, runs: map[string]*Run{}}
}

// Start begins a run. It goes on until it ends, Cancel or Close, whatever
// becomes of the caller. The errors are INVALID_PARAMS for an order that is
// none, ENGINE_BUSY when too many go on, ID_COLLISION and STATE_NOT_SAVED.
func (r *Runtime) Start(order Order) (*Run, error) {
	if err := order.check(); err != nil {
		return nil, err
	}
	order.Goal = r.redactor.Text(order.Goal)
	if order.RunID == "" {
		order.RunID = r.options.NewID()
	}
	return r.launch(order.RunID, func() (*Run, error) {
		session, err := r.options.Memory.Create(order.RunID)
		if err != nil {
			return nil, err
		}
		made := r.newRun(order, session, r.options.Now())
		first := started{Order: order, Time: stamp(made.began)}
		first.Order.ForceArgs, first.Withheld = r.withheld(order.ForceArgs)
		if err := session.Append(recordStarted, first, memory.Durable); err != nil {
			return nil, errors.Join(err, session.Close())
		}
		return made, nil
	})
}

// Resume goes on with a run that was interrupted, canceled or ended at its
// limit, from its last durable step: a decision that was received is not asked
// for again, a call that completed is not made again. maxSteps over 0 is a new
// limit. A run that goes on in this runtime is returned as it is, one that
// ended well comes back as ended. The errors are UNKNOWN_RUN, STATE_CONFLICT
// where another process runs it, STATE_CORRUPT and ENGINE_BUSY.
func (r *Runtime) Resume(id string, maxSteps int) (*Run, error) {
	if run := r.running(id); run != nil {
		return run, nil
	}
	return r.launch(id, func() (*Run, error) {
		session, records, err := r.options.Memory.Resume(id)
		if err != nil {
			return nil, err
		}
		made, err := r.restore(session, records, maxSteps)
		if err != nil {
			return nil, errors.Join(err, session.Close())
		}
		return made, nil
	})
}

// launch takes a place among the runs and starts one on its goroutine.
func (r *Runtime) launch(id string, begin func() (*Run, error)) (*Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx.Err() != nil:
		return nil, fault.New(fault.EngineOffline, "the program ends; no run begins")
	case r.runs[id] != nil:
		return nil, fault.New(fault.IDCollision, "run %s goes on already", id)
	case len(r.runs) >= maxRuns:
		return nil, fault.New(fault.EngineBusy, "%d runs go on already; wait for one to end or cancel it", len(r.runs))
	}
	run, err := begin()
	if err != nil {
		return nil, err
	}
	r.runs[id] = run
	r.driving.Go(func() {
		run.drive()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.runs, id)
		close(run.ended)
	})
	return run, nil
}

func (r *Runtime) running(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

// Cancel ends a run, of this process or of another, and keeps what it did. One
// that was canceled before is canceled still. UNKNOWN_RUN where there is none;
// INVALID_TRANSITION where it ended in another way.
func (r *Runtime) Cancel(id string) error {
	if run := r.running(id); run != nil {
		run.cancel(errCanceled)
		return nil
	}
	report, err := r.Report(id)
	switch {
	case err != nil:
		return err
	case report.Status == StatusRunning:
		return r.options.Memory.Cancel(id)
	case report.Status == StatusCanceled:
		return nil
	case report.Status == StatusInterrupted:
		return fault.New(fault.InvalidTransition, "run %s was interrupted and does not go on: there is nothing to cancel", id)
	}
	return fault.New(fault.InvalidTransition, "run %s has ended already (%s): there is nothing to cancel", id, report.Status)
}

// Report returns how a run stands, wherever it runs. UNKNOWN_RUN where there
// is none.
func (r *Runtime) Report(id string) (Report, error) {
	if run := r.running(id); run != nil {
		return run.Report(), nil
	}
	records, err := r.options.Memory.Records(id)
	if err != nil {
		return Report{}, err
	}
	report, err := reportOf(id, records)
	if err == nil && report.Status == StatusInterrupted && r.options.Memory.Running(id) {
		report.Status = StatusRunning
	}
	return report, err
}

// List returns all runs, the last changed first, without their transcripts.
func (r *Runtime) List(ctx context.Context) ([]Report, error) {
	snapshots, err := r.options.Memory.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Report, 0, len(snapshots))
	for _, each := range snapshots {
		report := Report{RunID: each.SessionID, Status: Status(each.Status), Goal: each.Goal, Steps: each.Count, Final: each.Final}
		if report.Status == StatusRunning && !r.options.Memory.Running(each.SessionID) {
			report.Status = StatusInterrupted
		}
		list = append(list, report)
	}
	return list, nil
}

// Close ends every run; they can be resumed. It returns when their goroutines
// are gone. A tool that does not heed that its call is taken back is left
// behind: it ends with the program.
func (r *Runtime) Close() {
	r.mu.Lock()
	r.stop(errClosed)
	r.mu.Unlock()
	r.driving.Wait()
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
