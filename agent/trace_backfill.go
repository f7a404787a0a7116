package agent

import "savant/telemetry"

// recorded summarizes a run's events in the trace. Events are written in order, so only
// those after the last recorded step can be missing.
type recorded struct {
	decided int // the last step with a decision
	shown   int // the last step with a prompt
	calls   map[callEvent]bool
}

type callEvent struct {
	event telemetry.Type
	call  string
}

// backfillTrace restores the events that a crash lost from the journal of the resumed
// run: decisions and completed calls. An unreadable trace is left unchanged.
func (r *Run) backfillTrace() {
	if r.unrecorded == nil {
		return
	}
	has := recorded{calls: map[callEvent]bool{}}
	err := r.runtime.options.Recorder.ReadRun(r.ID(), func(e telemetry.Event, _ []byte) {
		switch e.Type {
		case telemetry.ReasoningStep:
			has.decided = max(has.decided, e.Step)
		case telemetry.PromptSnapshot:
			has.shown = max(has.shown, e.Step)
		case telemetry.ToolCallStarted, telemetry.PolicyDenied, telemetry.ToolCallCompleted:
			has.calls[callEvent{e.Type, e.CallID}] = true
		}
	})
	r.warn("the events that the trace lacks cannot be read", err)
	for _, each := range r.unrecorded.decisions {
		if err == nil && each.Step >= has.decided {
			r.backfillStep(each, has)
		}
	}
	r.unrecorded = nil
}

func (r *Run) backfillStep(d decision, has recorded) {
	if d.Intent.Prompt != nil && d.Step > has.shown {
		r.backfill(d.Intent.Prompt.Event(d.Intent.Model), d)
	}
	if d.Step > has.decided {
		r.backfill(r.decisionEvent(d.Intent), d)
	}
	for _, each := range newTurn(d.Step, d.Intent, nil).asked {
		call, completed := r.unrecorded.calls[d.Step][each.number]
		if !completed {
			continue
		}
		for _, e := range append([]telemetry.Event{callStarted(each)}, callEnded(each.id(), call)...) {
			if !has.calls[callEvent{e.Type, each.id()}] {
				r.backfill(e, d)
			}
		}
	}
}

// backfill records an event with its decision's time in the journal.
func (r *Run) backfill(e telemetry.Event, d decision) {
	if e.Metadata == nil {
		e.Metadata = map[string]any{}
	}
	e.Timestamp, e.Metadata["restored"] = d.time, true
	r.event(d.Step, e)
}
