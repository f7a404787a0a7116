// Package fleet distributes runs of the agent to workers on any machine. A run is a
// session in the database. Each demand to drive it is a job: a worker claims the job
// and renews its lease by heartbeats; when they stop, another worker may claim it.
package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/agent"
	"savant/agent/memory"
	"savant/agent/memory/mongosessions"
	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
)

// Options of New.
type Options struct {
	Place    *mongosessions.Place
	Database *mongo.Database
	Logger   *slog.Logger
}

// Lease is the default lease: how long a worker keeps a run without a heartbeat.
const Lease = 15 * time.Second

// Fleet is the runs and the workers of a database. Its methods are safe for concurrent
// use.
type Fleet struct {
	options Options
	roster  *roster
	runtime *agent.Runtime
	driving sync.WaitGroup // of Here
}

// New returns the fleet of a database. Call Use before it drives runs.
func New(options Options) *Fleet {
	f := &Fleet{options: options, roster: newRoster(options.Database.Collection(workersCollection))}
	options.Place.Note = f.roster.note
	return f
}

// Close waits until the runs that Here started have ended and their jobs are completed.
func (f *Fleet) Close() { f.driving.Wait() }

// Use sets the runtime for the runs that this process claims.
func (f *Fleet) Use(runtime *agent.Runtime) { f.runtime = runtime }

// order is the body of a job.
type order struct {
	agent.Order
	// After is the number of records that the session had. A later end record completes
	// this job.
	After int `json:"after"`
}

// Dispatch enqueues a run for the workers with the labels that it needs. It is
// idempotent. The error is STATE_NOT_SAVED.
func (f *Fleet) Dispatch(ctx context.Context, given agent.Order) error {
	_, err := f.dispatch(ctx, given, needs(given.Needs))
	return err
}

func (f *Fleet) dispatch(ctx context.Context, given agent.Order, needs string) (job string, err error) {
	place := f.options.Place
	records, err := place.Records(given.RunID)
	if err != nil {
		return "", err
	}
	last, number, err := place.LastJob(ctx, given.RunID)
	if err != nil {
		return "", err
	}
	if number == 0 || last.Ended {
		number++
	}
	body, err := json.Marshal(order{given, len(records)})
	if err != nil {
		return "", fault.New(fault.Internal, "encode the order of run %s: %w", given.RunID, err)
	}
	job = mongosessions.JobID(given.RunID, number)
	err = place.Jobs.EnqueueFor(ctx, job, needs, body)
	return job, mongo.Coded(fault.StateNotSaved, "run "+given.RunID+" was not queued for a worker", err)
}

// Work configures a worker.
type Work struct {
	// Labels are what the worker offers: folder=NAME.
	Labels []string
	// Concurrency is how many runs the worker drives at once, at most MaxConcurrency.
	Concurrency int
	// Lease is how long the worker keeps a run without a heartbeat.
	Lease time.Duration
	// MaxClaims is the number of failed claims after which a run is set aside.
	MaxClaims int
	// Display shows the runs of the worker; it may be nil.
	Display Display
}

// Display shows which runs a worker drives. Its methods may be called concurrently.
type Display interface {
	// Took is told that a run is claimed, and Ended that it is released.
	Took(run string, claim int)
	Ended(report agent.Report)
}

// MaxConcurrency is how many runs a process drives at once.
const MaxConcurrency = 8

// Serve claims and drives runs until ctx ends, then gives its open runs back. It
// outlasts a temporary outage of the database.
func (f *Fleet) Serve(ctx context.Context, work Work) error {
	present, leave := context.WithCancel(ctx)
	defer leave()
	var beside sync.WaitGroup
	beside.Go(func() {
		f.roster.stay(present, f.options.Place.Owner(), needs(work.Labels), min(work.Lease, Lease)/4)
	})
	beside.Go(func() { f.unlist(present) })
	err := f.worker(work, serveWork{f, work}).Run(ctx)
	leave()
	beside.Wait()
	return err
}

// serveWork is the work of Serve.
type serveWork struct {
	fleet *Fleet
	work  Work
}

// The methods of jobs.Work.
func (s serveWork) Do(ctx context.Context, job jobs.Job) ([]byte, error) {
	return s.fleet.drive(ctx, job, s.work)
}
func (s serveWork) Accepts(needs string) bool { return has(s.work.Labels, needs) }
func (s serveWork) Bound(needs string) bool   { return bound(needs) }

// unlist removes jobs that were cancelled before a worker claimed them, at once and
// then every hour.
func (f *Fleet) unlist(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.options.Place.Jobs.Unlist(ctx); err != nil && ctx.Err() == nil && f.options.Logger != nil {
			f.options.Logger.Debug("the list of waiting runs was not cleaned", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
	}
}

func (f *Fleet) worker(work Work, do jobs.Work) *jobs.Worker {
	return &jobs.Worker{Queue: f.options.Place.Jobs, Owner: f.options.Place.Owner(), Concurrency: work.Concurrency, Lease: work.Lease,
		MaxClaims: work.MaxClaims, Code: fault.StateNotSaved, Log: f.options.Logger, Work: do}
}

// drive takes a claimed run over and drives it to its end.
func (f *Fleet) drive(ctx context.Context, job jobs.Job, work Work) ([]byte, error) {
	id, number := mongosessions.OfJob(job.ID)
	var given order
	if err := json.Unmarshal(job.Body, &given); err != nil || given.RunID != id {
		return nil, fault.New(fault.StateCorrupt, "the order of run %s cannot be read: %w", id, err)
	}
	if ended, err := f.hasEnded(id, given.After); err != nil || ended {
		return answer(id), giveBack(err)
	}
	f.options.Place.Hold(id, mongosessions.Claim{Job: number, Number: job.Claim})
	run, err := f.runtime.Resume(given.Order)
	if err != nil {
		return nil, giveBack(err)
	}
	if work.Display != nil {
		work.Display.Took(id, job.Claim)
	}
	stop := context.AfterFunc(ctx, func() { f.interrupt(run) })
	defer stop()
	report := run.Wait(context.Background(), nil)
	if work.Display != nil {
		work.Display.Ended(report)
	}
	switch {
	case run.Unwritten() != nil:
		return nil, giveBack(run.Unwritten())
	case report.Status == agent.StatusInterrupted:
		return nil, &jobs.Returned{Err: fmt.Errorf("run %s was interrupted", id), Blameless: true}
	}
	return answer(id), nil
}

// interrupt interrupts a run when its claim is lost or its worker ends.
func (f *Fleet) interrupt(run *agent.Run) {
	if f.options.Place.Canceled(run.ID()) {
		run.Cancel()
		return
	}
	run.Leave()
}

// hasEnded reports whether a run's journal has an end record after the first `after`
// records. A worker may have been lost between writing that record and completing its
// job.
func (f *Fleet) hasEnded(id string, after int) (bool, error) {
	records, err := f.options.Place.Records(id)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(records[min(after, len(records)):], agent.EndsRun), nil
}

// giveBack makes the job claimable again if the error comes from another owner or from
// an unreachable store, not from the run.
func giveBack(err error) error {
	inTheWay := errors.Is(err, fault.StateConflict) || errors.Is(err, fault.EngineBusy) || errors.Is(err, fault.EngineOffline) || mongo.Away(err)
	if inTheWay || errors.Is(err, fault.StateNotSaved) {
		return &jobs.Returned{Err: err, Blameless: inTheWay}
	}
	return err
}

// answer is the result of a job: a reference to the session.
func answer(id string) []byte {
	text, err := json.Marshal(map[string]string{"run_id": id})
	if err != nil {
		panic("fleet: a string does not encode: " + err.Error())
	}
	return text
}

// processLabel prefixes the label of a job reserved for the process that enqueued it.
const processLabel = "process="

func bound(needs string) bool { return strings.HasPrefix(needs, processLabel) }

// endIfLost ends a job reserved for a process that no longer runs.
func (f *Fleet) endIfLost(ctx context.Context, id string) error {
	place := f.options.Place
	job, _, err := place.LastJob(ctx, id)
	if err != nil || job.Ended || !bound(job.Needs) {
		return err
	}
	lost, err := place.Jobs.Lost(ctx, job.ID, Lease)
	if err == nil && lost {
		err = place.Jobs.EndLost(ctx, job.ID)
	}
	return mongo.Coded(fault.StateNotSaved, "run "+id+" was not continued", err)
}

// Here starts a run, or resumes one if options is nil, and drives it in this process.
// Other processes can see and cancel the run but not claim it.
func (f *Fleet) Here(ctx context.Context, options *agent.RunOptions, more agent.Order) (*agent.Run, error) {
	label, approval := processLabel+rand.Text(), more.Approval
	if options != nil {
		approval = options.Approval
	} else if err := f.endIfLost(ctx, more.RunID); err != nil {
		return nil, err
	}
	var job string
	given := func(ctx context.Context, order agent.Order) (err error) {
		job, err = f.dispatch(ctx, order, label)
		return err
	}
	if err := f.submit(ctx, options, more, given); err != nil {
		return nil, err
	}
	if job == "" {
		return f.asItEnded(more)
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	one := localWork{fleet: f, label: label, approval: approval, started: make(chan taken, 1), stop: stop}
	worker := f.worker(Work{Concurrency: 1, MaxClaims: 1, Lease: Lease}, one)
	f.driving.Go(func() { _ = worker.Run(working) })
	select {
	case got := <-one.started:
		return got.run, got.err
	case <-ctx.Done():
		stop()
		return nil, context.Cause(ctx)
	}
}

// localWork is the work of Here: the one run with a label of this process. stop ends its worker.
type localWork struct {
	fleet    *Fleet
	label    string
	approval agent.Approval
	started  chan taken
	stop     context.CancelFunc
}

// taken is a run that was claimed.
type taken struct {
	run *agent.Run
	err error
}

// The methods of jobs.Work.
func (o localWork) Do(ctx context.Context, job jobs.Job) ([]byte, error) {
	id, number := mongosessions.OfJob(job.ID)
	var given order
	err := json.Unmarshal(job.Body, &given)
	o.fleet.options.Place.Hold(id, mongosessions.Claim{Job: number, Number: job.Claim})
	given.Approval = o.approval
	var run *agent.Run
	if err == nil {
		run, err = o.fleet.runtime.Resume(given.Order)
	}
	o.started <- taken{run, err}
	defer o.stop()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { o.fleet.interrupt(run) })()
	<-run.Done()
	return answer(id), run.Unwritten()
}
func (o localWork) Accepts(needs string) bool { return needs == o.label }
func (o localWork) Bound(string) bool         { return false }

// asItEnded opens a run whose job has no work left; a completed run reports its end
// again. STATE_CONFLICT means that another process drives it.
func (f *Fleet) asItEnded(given agent.Order) (*agent.Run, error) {
	report, err := f.runtime.Report(given.RunID)
	if err != nil {
		return nil, err
	}
	if report.Status != agent.StatusOK {
		return nil, memory.Conflict(given.RunID)
	}
	records, err := f.options.Place.Records(given.RunID)
	if err != nil {
		return nil, err
	}
	f.options.Place.Hold(given.RunID, mongosessions.LatestClaim(records))
	return f.runtime.Resume(given)
}

// dispatcher is a function as an agent.Dispatcher.
type dispatcher func(context.Context, agent.Order) error

// Dispatch implements agent.Dispatcher.
func (d dispatcher) Dispatch(ctx context.Context, order agent.Order) error { return d(ctx, order) }

// submit creates a run, or reopens one if options is nil.
func (f *Fleet) submit(ctx context.Context, options *agent.RunOptions, more agent.Order, dispatch dispatcher) error {
	if options != nil {
		_, err := f.runtime.Submit(ctx, *options, dispatch)
		return err
	}
	return f.runtime.Reopen(ctx, more, dispatch)
}
