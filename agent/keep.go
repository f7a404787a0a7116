package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/telemetry"
)

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
	fitted, err := r.session.Fit(step.Calls)
	if err != nil {
		r.warn("an output is not kept whole", err)
	}
	step.Calls = fitted
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

// saveWhileAsking replaces the snapshot, and has the trace written, when an
// answer takes long enough for it: both would stand in the way of the next sync
// of the journal otherwise. The function returned ends the waiting.
func (r *Run) saveWhileAsking() (stop func()) {
	if !r.unsaved {
		return func() {}
	}
	started := make(chan struct{})
	timer := time.AfterFunc(r.runtime.options.SnapshotPause, func() {
		r.startSave()
		close(started)
		r.runtime.options.Recorder.Flush()
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
	r.runtime.options.Recorder.Flush()
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
