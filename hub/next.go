package hub

import (
	"net/http"
	"strings"

	"savant/engines/workflow"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// nextView is what a reader of a run wants first: why it stands where it does, and what
// can be done about it.
type nextView struct {
	Reasons []standingReason
	Hint    string // what to do
	Act     string // the form that does it: fork or go-on
	Label   string
	From    string // for fork: the step before whose answer the new run begins
	Adopt   bool   // for fork: under the workflow's file as it is now
}

// standingReason is why a step has failed or is blocked.
type standingReason struct{ Step, Text string }

// maxReasons is how many failed steps the top of a page names.
const maxReasons = 5

// offlinePlanner is the name of the decider that answers no model's step.
const offlinePlanner = "offline-planner"

// underPresentFile is the button of a fork that adopts the workflow's file.
const underPresentFile = "Fork under the file as it is now"

// reasonOf describes the end of a step.
func reasonOf(step flow.StepStatus) string {
	parts := []string{}
	if cause := think.Cause(step.Cause); cause != "" {
		parts = append(parts, cause)
	}
	if step.Code != "" {
		parts = append(parts, step.Code+": "+fault.Cut(step.Details, captureShown))
	}
	return strings.Join(parts, "; ")
}

// next sets what the page of a run says first.
func (h *Hub) next(r *http.Request, view *runView) {
	if view.Moment == nil || view.Moment.Past {
		return
	}
	next, key := &view.Next, view.Key()
	switch status := view.Standing.Status; {
	case status == string(flow.Blocked):
		for _, step := range view.Standing.Steps {
			next.Reasons = append(next.Reasons, standingReason{Step: step, Text: view.Because})
		}
		if view.Because != "" && len(next.Reasons) > 0 {
			view.Because = ""
		}
		next.Hint = "The run is kept as it is. Correct the workflow's file or what the step reads, then begin a new run with these answers."
		if view.Acts.Fork && !view.Missing {
			next.Act, next.Adopt, next.Label = "fork", true, underPresentFile
		}
	case len(view.Moment.Failed) > 0 && view.Ended != nil:
		for _, step := range view.Moment.Failed {
			next.Reasons = append(next.Reasons, standingReason{step.ID, reasonOf(step)})
		}
		switch failed := view.Moment.Answered; {
		case !view.Acts.Fork:
		case failed != "":
			next.Act, next.From, next.Label = "fork", failed, "Run again from "+failed
			next.Hint = "A new run begins with the answers before " + failed + "; this one stays as it is."
		case !view.Missing: // Savant decided, and would do it again
			next.Act, next.Adopt, next.Label = "fork", true, underPresentFile
			next.Hint = "The answers before lead to this. Correct the workflow's file, then begin a new run with them; or fork before a wrong answer."
		}
	case status == "interrupted" && view.Acts.GoOn:
		next.Act, next.Label = "go-on", "Continue here"
		next.Hint = "The process that carried it out has ended."
	case view.Standing.WaitsFor == "model" && view.Moment.ForModel:
		h.nextOfModel(r, view)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if why := h.stopped[key]; why != "" && !h.driving[key] && !view.Ends() {
		next.Hint = strings.TrimSpace("The hub stopped here: " + why + " " + next.Hint)
	}
}

// nextOfModel says who would decide the step of a model, if the hub went on.
func (h *Hub) nextOfModel(r *http.Request, view *runView) {
	var able []string
	for _, each := range h.whoDecides(r.Context()) {
		if each.Name != offlinePlanner && each.State != "denied" {
			able = append(able, each.Name)
		}
	}
	if len(able) == 0 {
		view.Acts.GoOn = false
		view.Next.Hint = "It waits for the model of a client. No model is set for Savant itself, so it cannot be continued here: LLM_MODEL names one."
		return
	}
	view.Next.Hint = "It waits for the model of a client. If it is continued here, " + strings.Join(able, " or ") + " answers the steps of models instead."
	if view.Acts.GoOn {
		view.Next.Act, view.Next.Label = "go-on", "Continue here with "+able[0]
	}
}

// Ends reports whether a run has ended.
func (v *runView) Ends() bool { return hasEnded(v.Standing.Status) }

// stop remembers why the hub went no further with a run; nil forgets it.
func (h *Hub) stop(key state.Key, pending *workflow.Pending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.stopped, key); pending != nil {
		h.stopped[key] = pending.Why
	}
}
