package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"savant/agent/memory"
	"savant/fault"
	"savant/telemetry"
)

// snapshot remembers the step of a turn, and ends a run that makes no progress.
func (r *Run) snapshot(t turn) (turn, Signal, error) {
	r.remember(t.step())
	r.startSave(t)
	if t.outcome.Status != "" {
		return t, finish, nil
	}
	if why := stuckBecause(r.recent.traces); why != "" {
		t.outcome = outcome{Status: StatusStuck, Final: r.summary(), Warning: "the run was ended because " + why}
		return t, stuck, nil
	}
	return t, saved, nil
}

func (r *Run) remember(step memory.Step) {
	fitted, err := r.session.Fit(step.Calls)
	r.warn("an output is not kept whole", err)
	if len(step.Calls) > 0 {
		r.recent.notes = notesOf(step.Calls)
	}
	step.Calls = fitted
	r.session.Remember(step)
	r.recent.calls = step.Calls
	r.recent.traces = append(r.recent.traces, traceOf(step))
	r.recent.traces = r.recent.traces[max(0, len(r.recent.traces)-maxTraces):]
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

// startSave begins to replace the snapshot of the run, once the one before is
// written.
func (r *Run) startSave(t turn) {
	r.finishSave(t.index)
	r.session.Describe(memory.Head{Goal: r.options.Goal, Status: string(cmp.Or(t.outcome.Status, StatusRunning)), Final: t.outcome.Final, Started: stamp(r.began),
		State: map[string]any{"state": string(r.current()), "persona": r.briefing.persona.Name, "max_steps": r.options.MaxSteps}})
	wait := r.session.Save()
	r.waitSaved = func(step int) {
		step = cmp.Or(t.index, step)
		held, err := wait()
		if err != nil {
			r.runtime.options.Logger.Warn("the snapshot of a run is not written", "run", r.ID(), "cause", err.Error())
			r.event(step, telemetry.Event{Type: telemetry.Error, Error: failure(err)})
			return
		}
		r.event(step, telemetry.Event{Type: telemetry.MemorySnapshot, Status: "ok", Metadata: map[string]any{"steps": held.Steps,
			"summarized": held.Summarized, "errors": held.Errors, "bytes": held.Bytes}})
	}
}

// finishSave waits until the snapshot is written and records it. A failure costs
// a warning, not the run.
func (r *Run) finishSave(step int) {
	if r.waitSaved != nil {
		r.waitSaved(step)
		r.waitSaved = nil
	}
}

// conclude writes how the run ended, and returns the event that says so.
func (r *Run) conclude(state State, t turn) telemetry.Event {
	if state == Cancel {
		t.outcome = outcome{Status: StatusCanceled, Final: "Canceled by user"}
		if errors.Is(context.Cause(r.ctx), errClosed) {
			t.outcome = outcome{Status: StatusInterrupted}
		}
	}
	unwritten := r.session.Append(recordFinished, t.outcome, memory.Durable)
	r.startSave(t)
	r.finishSave(t.index)
	if unwritten != nil {
		t.outcome.Warning = "how the run ended is not written: " + fault.From(unwritten).Message()
	}
	r.update(func(report *Report) { report.end(t.outcome) })
	e := r.recordEnd(t.index, t.outcome)
	r.runtime.options.Recorder.Flush()
	if err := r.session.Close(); err != nil {
		r.runtime.options.Logger.Warn("the files of a run are not closed", "run", r.ID(), "cause", err.Error())
	}
	return e
}

// summary is what a run that ends without an answer says it did.
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
