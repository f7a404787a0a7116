package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
	"savant/telemetry"
)

// Order asks this or another process to start or resume a run.
type Order struct {
	RunID string `json:"run_id"`
	// Needs are the labels required of the worker.
	Needs []string `json:"needs,omitempty"`
	// Goal and MaxSteps are for a resumed run; empty keeps the present ones.
	Goal     string `json:"goal,omitempty"`
	MaxSteps int    `json:"max_steps,omitempty"`
	// Within are the runs whose rules hold for who gives the order.
	Within []engines.Run `json:"within,omitempty"`
	// Who gives the order.
	telemetry.Who
	// Approval and orderers are of the caller in this process; other processes do not get
	// them.
	Approval `json:"-"`
	orderers []string
}

var labelPattern = pattern.Lazy(`^[a-z][a-z0-9_.-]{0,30}=[A-Za-z0-9][A-Za-z0-9_./@:-]{0,99}$`)

// CheckLabel validates a label. The error is INVALID_PARAMS.
func CheckLabel(label string) error {
	if !labelPattern().MatchString(label) {
		return invalid("labels", fmt.Sprintf("expected NAME=VALUE such as folder=shop, got %q", fault.Cut(label, 60)))
	}
	return nil
}

// Submit creates a run and hands it to a dispatcher. The errors are those of Start and of
// the dispatcher; after an error of the latter the run can be resumed.
func (r *Runtime) Submit(ctx context.Context, options RunOptions, dispatcher Dispatcher) (id string, err error) {
	if options, err = r.complete(options); err != nil {
		return "", err
	}
	if _, withheld := r.withoutSecrets(options.ForceArgs); withheld {
		return "", invalid("force_args", "they hold what looks like a secret; Savant does not store it, so no other process could use it")
	}
	began := r.options.Now()
	session, err := r.create(options, began)
	if err != nil {
		return "", err
	}
	session.Describe(memory.Head{Goal: options.Goal, Status: string(StatusRunning), Started: stamp(began), State: map[string]any{"max_steps": options.MaxSteps}})
	if _, err := session.Save(); err != nil {
		r.options.Logger.WarnContext(ctx, "the snapshot of a run was not written", "run", options.RunID, "cause", err.Error())
	}
	if err := session.Close(); err != nil {
		return "", err
	}
	return options.RunID, dispatcher.Dispatch(ctx, Order{RunID: options.RunID, Needs: options.Needs})
}

// Reopen has another process resume a run, with its goal or a new one. A completed run
// without a new goal is unchanged. INVALID_TRANSITION means that the run is still
// working on its goal.
func (r *Runtime) Reopen(ctx context.Context, order Order, dispatcher Dispatcher) error {
	id, goal := order.RunID, order.Goal
	records, err := r.options.Memory.Records(id)
	if err != nil {
		return err
	}
	h, err := readHistory(id, records)
	if err != nil {
		return err
	}
	report, err := r.Report(id)
	switch {
	case err != nil:
		return err
	case report.open() && goal != "" && goal != report.Goal:
		return fault.New(fault.InvalidTransition, "run %s still works on its goal: wait for its end, or cancel it, before you give it another goal", id)
	case report.Status == StatusOK && (goal == "" || goal == report.Goal), report.Status == StatusRunning:
		return nil
	}
	order.Needs = h.options().Needs
	return dispatcher.Dispatch(ctx, order)
}

// GoOn resumes a run, in this process or through the dispatcher.
func (r *Runtime) GoOn(ctx context.Context, order Order) error {
	if r.options.Dispatcher != nil {
		return r.Reopen(ctx, order, r.options.Dispatcher)
	}
	_, err := r.Resume(order)
	return err
}

// dispatched implements agent.run if other processes drive runs.
func (r *Runtime) dispatched(ctx context.Context, call engines.Call, in RunInput) (Report, error) {
	id := in.RunID
	if id == "" {
		options, err := r.ordered(ctx, call, in)
		if err != nil {
			return Report{}, err
		}
		if id, err = r.Submit(ctx, options, r.options.Dispatcher); err != nil {
			return Report{}, err
		}
		return r.followed(ctx, call, id, in)
	}
	if err := r.mayGoOn(in); err != nil {
		return Report{}, err
	}
	order, err := r.order(ctx, call, in)
	if err == nil {
		err = r.Reopen(ctx, order, r.options.Dispatcher)
	}
	if err != nil {
		return Report{}, err
	}
	return r.followed(ctx, call, id, in)
}

func (r *Runtime) followed(ctx context.Context, call engines.Call, id string, in RunInput) (Report, error) {
	call.Task.Begin(id)
	report, err := r.follow(ctx, call, id, in.WaitMS, usualWait(call))
	return report, cmp.Or(err, r.cancelledWith(ctx, report))
}

// Polling intervals for a run that another process drives.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// follow waits for the end of a run that another process drives.
func (r *Runtime) follow(ctx context.Context, call engines.Call, id string, given *int, usual int) (Report, error) {
	over := time.After(patience(given, usual))
	progress, seen := call.Progress, -1
	for pause := firstLook; ; pause = min(pause*3/2, lastLook) {
		report, err := r.Report(id)
		if err != nil || !report.open() {
			return report, err
		}
		if progress != nil && report.Steps != seen {
			progress(float64(report.Steps), 0, fmt.Sprintf("run %s, step %d", id, report.Steps))
			seen = report.Steps
		}
		select {
		case <-over:
			return report, nil
		case <-ctx.Done():
			return report, nil
		case <-time.After(pause):
		}
	}
}

// open reports whether a run is being driven or queued.
func (r Report) open() bool { return r.Status == StatusRunning || r.Status == StatusQueued }

// stand adds to the report of a foreign run which process drives it.
func (r *Runtime) stand(report *Report) error {
	if !r.options.Memory.Shared() && report.Status != StatusInterrupted {
		return nil
	}
	driver, err := r.options.Memory.DriverStatus(report.RunID)
	switch {
	case err != nil:
		return err
	case driver.HeartbeatOverdue:
		report.Status, report.Final, report.Error = StatusInterrupted, "", nil
		report.Warning = "the process that drives the run, " + driver.Owner + ", has sent no heartbeat for a long time"
	case driver.Open:
		report.Status, report.Final, report.Warning, report.Error = StatusRunning, "", driver.Note, nil
		if driver.Waiting {
			report.Status = StatusQueued
		}
	case driver.Canceled && report.Status == StatusInterrupted:
		report.Status, report.Final = StatusCanceled, canceledByUser
	case report.Status == StatusInterrupted:
		report.Warning = driver.Note
	}
	return nil
}

// EndsRun reports whether a record says how the run ended, so that nobody has to resume
// it.
func EndsRun(record memory.Record) bool {
	var end outcome
	return record.Kind == recordFinished && json.Unmarshal(record.Data, &end) == nil && end.Status != StatusInterrupted
}
