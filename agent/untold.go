package agent

import (
	"savant/telemetry"
)

// told is what the trace has of a run. Events are written in the order in which
// they happened, so it can only lack those behind its last step.
type told struct {
	step  int               // the last that it has a decision of
	shown int               // the last that it has the prompt of
	calls map[happened]bool // what it has of calls
}

// happened is an event of a call.
type happened struct {
	event telemetry.Type
	call  string
}

// tellUntold adds to the trace what the journal knows and a crash kept from it:
// decisions, and all of the calls that completed. A trace that cannot be read
// stays as it is.
func (r *Run) tellUntold() {
	if r.untold == nil {
		return
	}
	known := told{calls: map[happened]bool{}}
	err := r.runtime.options.Recorder.Written(r.ID(), func(e telemetry.Event, _ []byte) {
		switch e.Type {
		case telemetry.ReasoningStep:
			known.step = max(known.step, e.Step)
		case telemetry.PromptSnapshot:
			known.shown = max(known.shown, e.Step)
		case telemetry.ToolCallStarted, telemetry.PolicyDenied, telemetry.ToolCallCompleted:
			known.calls[happened{e.Type, e.CallID}] = true
		}
	})
	r.warn("what the trace lacks is not known", err)
	for _, each := range r.untold.decisions {
		if err == nil && each.Step >= known.step {
			r.tellAgain(each, known)
		}
	}
	r.untold = nil
}

func (r *Run) tellAgain(each decision, known told) {
	if each.Intent.Prompt != nil && each.Step > known.shown {
		r.restored(shown(each.Intent), each)
	}
	if each.Step > known.step {
		r.restored(r.decided(each.Intent), each)
	}
	for number, asked := range each.Intent.AllCalls() {
		made, completedThen := r.untold.calls[each.Step][number]
		if !completedThen {
			continue
		}
		id := callID(each.Step, number)
		for _, e := range append([]telemetry.Event{begun(id, asked)}, concluded(id, made)...) {
			if !known.calls[happened{e.Type, id}] {
				r.restored(e, each)
			}
		}
	}
}

// restored tells of something that happened before: when, says the journal.
func (r *Run) restored(e telemetry.Event, of decision) {
	if e.Metadata == nil {
		e.Metadata = map[string]any{}
	}
	e.Step, e.Timestamp, e.Metadata["restored"] = of.Step, of.time, true
	r.event(e)
}
