package app

import (
	"context"
	"slices"
	"strings"

	"savant/think/flow"
	"savant/think/state"
)

// Standing is the state of a run for people: what it does or for whom it waits.
type Standing struct {
	// Status is running (a process drives it), waiting, interrupted (its driver has
	// ended), blocked, damaged, or the run's final status.
	Status string `json:"status"`
	// WaitsFor is person, model or tool (of a client) if the run waits.
	WaitsFor string `json:"waits_for,omitempty"`
	// Steps are the current or the failed steps.
	Steps []string `json:"steps,omitempty"`
}

// String formats a standing: "waiting (person)".
func (s Standing) String() string {
	if s.WaitsFor != "" {
		return s.Status + " (" + s.WaitsFor + ")"
	}
	return s.Status
}

// Step names the current steps of a run.
func (s Standing) Step() string { return strings.Join(s.Steps, ", ") }

// StandingOf returns the state of a listed run. It opens only a run that has not ended;
// one that cannot be opened is damaged.
func (a *App) StandingOf(ctx context.Context, run state.Info) Standing {
	if run.Status == string(flow.Done) || run.Status == string(flow.Cancelled) {
		return Standing{Status: run.Status}
	}
	at, err := a.Think.Position(ctx, run.Workflow, run.Run)
	if err != nil {
		return Standing{Status: run.Status}
	}
	out := Standing{Status: "waiting", Steps: at.Failed}
	for _, next := range at.Outstanding {
		out.Steps = append(out.Steps, next.StepID)
	}
	driven, left := a.driver(ctx, run.Key())
	switch {
	case at.Blocked != nil || at.Final != nil || len(at.Outstanding) == 0:
		out.Status = string(at.Status)
	case driven:
		out.Status = string(flow.Running)
	default:
		out.WaitsFor = a.waitsFor(at.Outstanding)
		if left && out.WaitsFor == forTool {
			out = Standing{Status: "interrupted", Steps: out.Steps}
		}
	}
	if out.WaitsFor == forTool && a.knowsOne(at.Outstanding) {
		out.WaitsFor = forModel // a guided client calls it
	}
	return out
}

// For whom a run waits.
const (
	forPerson = "person"
	forModel  = "model"
	forTool   = "tool"
)

// waitsFor returns for whom a run without a driver waits; a person comes first.
func (a *App) waitsFor(outstanding []flow.Instruction) string {
	whom := forTool
	for _, next := range outstanding {
		switch {
		case next.NeedsPerson():
			return forPerson
		case next.Call == flow.CallGenerate:
			whom = forModel
		}
	}
	return whom
}

// knowsOne reports whether Savant has the tool of one of the instructions.
func (a *App) knowsOne(outstanding []flow.Instruction) bool {
	return slices.ContainsFunc(outstanding, func(next flow.Instruction) bool {
		_, known := a.Tools.Resolve(next.Call)
		return known
	})
}
