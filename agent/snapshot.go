package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/telemetry"
)

// snapshot remembers the step of a turn, and ends a run that is stuck.
func (r *Run) snapshot(t turn) (turn, Signal, error) {
	r.remember(t.step())
	r.saveSoon(t.index)
	if t.outcome.Status != "" {
		return t, finish, nil
	}
	if why := stuckBecause(r.recent.traces, t.index >= r.options.MaxSteps-1); why != "" {
		t.outcome = outcome{Status: StatusStuck, Final: r.summary(), Warning: "the run was ended because " + why}
		return t, stuck, nil
	}
	return t, saved, nil
}

func (r *Run) remember(step memory.Step) {
	fitted, err := r.session.Fit(step.Calls)
	r.warn("an output was not stored completely", err)
	if len(step.Calls) > 0 {
		r.recent.notes = notesOf(step.Calls)
	}
	step.Calls = fitted
	r.session.Remember(step)
	r.recent.calls = step.Calls
	r.recent.traces = append(r.recent.traces, traceOf(step, r.runtime.options.Toolbox.Tools(), r.runtime.options.Now()))
	r.update(func(report *Report) { report.Steps = step.Index })
}

// notesOf are notes for the next decision about calls that were not made.
func notesOf(calls []memory.Call) []string {
	var notes []string
	for _, each := range calls {
		if each.Error != nil && (each.Error.Code == fault.ToolDenied || each.Error.Code == fault.UnknownTool) {
			notes = append(notes, each.Error.Details)
		}
	}
	return notes
}

// snapshots writes the snapshots of a run, one at a time.
type snapshots struct {
	mu    sync.Mutex
	timer *time.Timer // of the next one; nil before the first
	ended bool        // the last one is written
}

// saveSoon debounces save by SnapshotPause.
func (r *Run) saveSoon(step int) {
	pause := r.runtime.options.SnapshotPause
	if pause <= 0 {
		r.save(step, outcome{})
		return
	}
	if r.snapshots.timer != nil {
		r.snapshots.timer.Stop()
	}
	r.snapshots.timer = time.AfterFunc(pause, func() { r.save(step, outcome{}) })
}

// save replaces the snapshot of the run and emits an event with its last step. A
// failure is only a warning.
func (r *Run) save(step int, ended outcome) {
	r.snapshots.mu.Lock()
	defer r.snapshots.mu.Unlock()
	if r.snapshots.ended {
		return
	}
	r.session.Describe(memory.Head{Goal: r.options.Goal, Status: string(cmp.Or(ended.Status, StatusRunning)), Final: ended.Final, Started: stamp(r.began),
		State: r.stateOf(ended)})
	held, err := r.session.Save()
	e := telemetry.Event{Type: telemetry.MemorySnapshot, Status: "ok", Metadata: map[string]any{"steps": held.Steps,
		"summarized": held.Summarized, "errors": held.Errors, "bytes": held.Bytes}}
	if err == nil {
		step = held.Steps // the run may have made a step meanwhile
	} else {
		r.runtime.options.Logger.Warn("the snapshot of a run was not written", "run", r.ID(), "cause", err.Error())
		e = telemetry.Event{Type: telemetry.Error, Error: failure(err)}
	}
	r.event(step, e)
	r.snapshots.ended = ended.Status != ""
}

// conclude records the end of the run, and returns its event.
func (r *Run) conclude(state State, t turn) telemetry.Event {
	if state == Cancel {
		t.outcome = outcome{Status: StatusCanceled, Final: canceledByUser}
		if errors.Is(context.Cause(r.ctx), errClosed) {
			t.outcome = outcome{Status: StatusInterrupted}
		}
	}
	unwritten := r.append(recordFinished, t.outcome, memory.Durable)
	r.unwritten = unwritten
	r.save(t.index, t.outcome)
	if unwritten != nil {
		t.outcome.Warning = "the end of the run was not written: " + fault.From(unwritten).Message()
	}
	r.update(func(report *Report) { report.end(t.outcome) })
	e := r.recordEnd(t.index, t.outcome)
	r.runtime.options.Recorder.Flush()
	if err := r.session.Close(); err != nil {
		r.runtime.options.Logger.Warn("the files of a run could not be closed", "run", r.ID(), "cause", err.Error())
	}
	return e
}

// summary lists what a run did that ends without an answer.
func (r *Run) summary() string {
	summary := r.session.Summary()
	if strings.TrimSpace(summary) == "" {
		return "No answer was reached, and nothing was done."
	}
	return "No answer was reached. What was done:\n" + summary
}

// clean returns an error without secrets.
func (r *Run) clean(err error) *fault.Error {
	coded := fault.From(err)
	raw, failing := json.Marshal(coded)
	cleaned := new(fault.Error)
	if failing != nil || json.Unmarshal(r.runtime.redactor.JSON(raw), cleaned) != nil {
		return fault.New(coded.Code, "%s", r.runtime.redactor.Text(coded.Message()))
	}
	return cleaned
}

// stateModel is the member of a snapshot's state with the model that decided last.
const stateModel = "model"

// stateOf returns what a snapshot says of a run besides its head and its steps. The names
// are those of a Report.
func (r *Run) stateOf(ended outcome) map[string]any {
	report := r.spent()
	if ended.Status != "" {
		report.end(ended)
	}
	state := map[string]any{"state": string(r.current()), "persona": r.briefing.persona.Name, "max_steps": r.options.MaxSteps,
		"prompt_tokens": report.PromptTokens, "output_tokens": report.OutputTokens, stateModel: report.Model}
	report.AddTo(state)
	if report.Warning != "" {
		state["warning"] = report.Warning
	}
	if report.Error != nil {
		state["error"] = report.Error
	}
	return state
}

// reportOfSnapshot returns the report of a run as its last snapshot has it, without a
// transcript. Of an older snapshot it lacks what that does not have.
func reportOfSnapshot(of memory.Snapshot) (report Report) {
	if raw, err := json.Marshal(of.State); err == nil {
		_ = json.Unmarshal(raw, &report) // another program's state has other types
	}
	report.RunID, report.State, report.Goal, report.Steps, report.Final = of.SessionID, "", of.Goal, of.Count, of.Final
	report.Status, report.Started, report.Updated = cmp.Or(Status(of.Status).current(), StatusInterrupted), of.Started, of.Updated
	return report
}

// Summary is Report without the transcript. It reads the last snapshot alone where that
// and the driver of the run agree.
func (r *Runtime) Summary(id string) (Report, error) {
	if run := r.running(id); run != nil {
		return run.spent(), nil
	}
	if report, agreed := r.summarized(id); agreed {
		return report, nil
	}
	report, err := r.Report(id)
	report.Transcript = nil
	return report, err
}

func (r *Runtime) summarized(id string) (Report, bool) {
	var snapshot memory.Snapshot
	data, err := r.options.Memory.Snapshot(id)
	if err != nil || json.Unmarshal(data, &snapshot) != nil || r.options.Memory.Shared() {
		return Report{}, false
	}
	_, whole := snapshot.State[stateModel]
	report := reportOfSnapshot(snapshot)
	driver, err := r.options.Memory.DriverStatus(id)
	return report, err == nil && whole && report.RunID == id && report.Status != StatusInterrupted && driver.Open == (report.Status == StatusRunning)
}
