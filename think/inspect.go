package think

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// listedRuns bounds the runs that an error lists.
const listedRuns = 8

// openRun is a run that could be meant, as an error lists it.
type openRun struct {
	Workflow string   `json:"workflow"`
	RunID    string   `json:"run_id"`
	Status   string   `json:"status"`
	Steps    []string `json:"steps,omitempty"`
	Age      string   `json:"age"`
	// Own: the caller planned it or named it before.
	Own bool `json:"own,omitempty"`
}

// unnamed refuses a call that names no run where none is meant: it lists the caller's own
// runs first, and then other open ones.
func (e *Engine) unnamed(ctx context.Context, workflow string, own []state.Key, all, open []state.Info) error {
	of := ""
	if workflow != "" {
		of = " of workflow " + fault.Cut(PlainName(workflow), 80)
	}
	listed := slices.DeleteFunc(slices.Clone(all), func(info state.Info) bool { return !slices.Contains(own, info.Key()) })
	mine := slices.ContainsFunc(listed, func(info state.Info) bool { return isOpen(info.Status) })
	for _, info := range open {
		if !slices.Contains(own, info.Key()) {
			listed = append(listed, info)
		}
	}
	var failure *fault.Error
	switch {
	case len(open) == 0:
		failure = fault.New(fault.InvalidParams, "run_id is missing, and no run%s is open", of).With(fault.Diagnostic{Path: "run_id", Message: "missing, and no run is open"})
		if len(all) > 0 {
			last := all[0]
			failure.Details += ": the last, " + last.Run + " of " + last.Workflow + ", is " + last.Status
		}
		return failure.Hinted(fault.Hint{Call: "think.plan", Text: "starts one"})
	case !mine:
		failure = fault.New(fault.InvalidParams, "run_id is missing, and none of the open runs%s was planned or named by this client: name one of", of).
			With(fault.Diagnostic{Path: "run_id", Message: "missing, and no open run is this client's"})
	default:
		failure = fault.New(fault.InvalidParams, "run_id is missing, and several runs%s of this client may be meant: name one of", of).
			With(fault.Diagnostic{Path: "run_id", Message: "missing, and several runs may be meant"})
	}
	runs := e.describe(ctx, listed[:min(len(listed), listedRuns)])
	for i := range runs {
		each, join := &runs[i], ", "
		if i == 0 {
			join = " "
		}
		each.Own = slices.Contains(own, listed[i].Key())
		facts := append([]string{each.Workflow}, each.Steps...)
		if !isOpen(each.Status) {
			facts = append(facts, each.Status)
		}
		failure.Details += join + each.RunID + " (" + strings.Join(append(facts, each.Age+" ago"), ", ") + ")"
	}
	if more := len(listed) - len(runs); more > 0 {
		failure.Details += fmt.Sprintf(" and %d more", more)
	}
	return failure.Attach("runs", runs)
}

// ownsNone is unnamed for a caller whose last run has ended.
func (e *Engine) ownsNone(ctx context.Context, caller Caller, workflow string) error {
	all, open, err := e.openRuns(ctx, workflow)
	if err != nil {
		return err
	}
	return e.unnamed(ctx, workflow, e.runsOf(caller), all, open)
}

// openRuns returns all runs, the last changed first, and the unfinished ones among
// them.
func (e *Engine) openRuns(ctx context.Context, workflow string) (all, open []state.Info, err error) {
	if all, err = e.Store.List(ctx, state.Filter{Workflow: PlainName(workflow)}); err != nil {
		return nil, nil, err
	}
	for _, info := range all {
		if isOpen(info.Status) {
			open = append(open, info)
		}
	}
	return all, open, nil
}

// describe says of runs where they stand.
func (e *Engine) describe(ctx context.Context, infos []state.Info) []openRun {
	runs := make([]openRun, 0, len(infos))
	for _, info := range infos {
		run := openRun{Workflow: info.Workflow, RunID: info.Run, Status: info.Status}
		if changed, err := time.Parse(time.RFC3339Nano, info.Updated); err == nil {
			run.Age = age(e.Now().Sub(changed))
		}
		if at, err := e.Position(ctx, info.Workflow, info.Run); err == nil {
			for _, next := range at.Outstanding[:min(len(at.Outstanding), 3)] {
				run.Steps = append(run.Steps, next.StepID)
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// age writes a time that has passed in one unit: 40 s, 3 min, 5 h, 2 d.
func age(passed time.Duration) string {
	switch passed = max(passed, 0); {
	case passed < 100*time.Second:
		return fmt.Sprintf("%d s", int(passed.Seconds()))
	case passed < 100*time.Minute:
		return fmt.Sprintf("%d min", int(passed.Minutes()))
	case passed < 48*time.Hour:
		return fmt.Sprintf("%d h", int(passed.Hours()))
	}
	return fmt.Sprintf("%d d", int(passed.Hours()/24))
}

// withRunID says in an error which run was meant, where the call did not.
func withRunID(run string, err error) error {
	if run == "" || err == nil {
		return err
	}
	failure := *fault.From(err)
	failure.Extra = maps.Clone(failure.Extra)
	return failure.Attach("run_id", run)
}

// StateListInput selects runs.
type StateListInput struct {
	Workflow string `json:"workflow,omitempty"`
	Offset   int    `json:"offset,omitempty" min:"0"`
	Limit    int    `json:"limit,omitempty" doc:"default 50"`
}

// StateList is a part of the listing of runs, the last changed first. Total
// counts them all.
type StateList struct {
	Runs  []state.Info `json:"runs"`
	Total int          `json:"total"`
}

// StateList lists the runs from an offset, 50 unless a limit says otherwise.
func (e *Engine) StateList(ctx context.Context, in StateListInput) (*StateList, error) {
	infos, err := e.Store.List(ctx, state.Filter{Workflow: PlainName(in.Workflow)})
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 50
	}
	out := &StateList{Runs: []state.Info{}, Total: len(infos)}
	if from := min(in.Offset, len(infos)); from < len(infos) {
		out.Runs = infos[from : from+min(limit, len(infos)-from)]
	}
	return out, nil
}

// Outputs returns the outputs of a finished run: UNKNOWN_RUN;
// INVALID_TRANSITION while it goes on.
func (e *Engine) Outputs(ctx context.Context, workflow, run string) (any, error) {
	final, err := e.final(ctx, workflow, run, "outputs")
	if err != nil {
		return nil, err
	}
	return final.Outputs, nil
}

// Summary returns the summary of a run that has ended: UNKNOWN_RUN,
// INVALID_TRANSITION.
func (e *Engine) Summary(ctx context.Context, workflow, run string) (string, error) {
	final, err := e.final(ctx, workflow, run, "summary")
	if err != nil {
		return "", err
	}
	return final.Summary, nil
}

func (e *Engine) final(ctx context.Context, workflow, run, wanted string) (*flow.Final, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if l.now.Final == nil {
		return nil, fault.New(fault.InvalidTransition, "run %q is %s: it has no %s yet", run, l.now.Status, wanted)
	}
	return l.now.Final, nil
}
