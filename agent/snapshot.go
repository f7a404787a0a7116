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

// The members of a snapshot's state that count tokens.
const (
	statePromptTokens = "prompt_tokens"
	stateOutputTokens = "output_tokens"
)

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
	spent := r.spent()
	r.session.Describe(memory.Head{Goal: r.options.Goal, Status: string(cmp.Or(ended.Status, StatusRunning)), Final: ended.Final, Started: stamp(r.began),
		State: map[string]any{"state": string(r.current()), "persona": r.briefing.persona.Name, "max_steps": r.options.MaxSteps,
			statePromptTokens: spent.PromptTokens, stateOutputTokens: spent.OutputTokens}})
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
