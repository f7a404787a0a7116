package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines/repo"
	"savant/fault"
	"savant/think/flow"
	"savant/think/gate/sessions"
	"savant/think/state"
)

// Kind says what a run is of.
type Kind string

// The kinds of runs.
const (
	OfWorkflow Kind = "workflow"
	OfAgent    Kind = "agent"
)

// Run is a run of a workflow or of the agent, as lists show it.
type Run struct {
	RunID    string `json:"run_id"`
	Kind     Kind   `json:"kind"`
	Workflow string `json:"workflow,omitempty"`
	Goal     string `json:"goal,omitempty"`
	Status   string `json:"status"`
	// Standing is the state of a run of a workflow, once it was asked for.
	Standing *Standing `json:"standing,omitempty"`
	// Version counts the records of a workflow's run, Steps the agent's decisions.
	Version int    `json:"version,omitempty"`
	Steps   int    `json:"steps,omitempty"`
	Created string `json:"created"`
	Updated string `json:"updated"`
	// Warning says why a run of the agent does not go on.
	Warning string `json:"warning,omitempty"`
}

// Key is the key of a workflow's run.
func (r Run) Key() state.Key { return state.Key{Workflow: r.Workflow, Run: r.RunID} }

// String is WORKFLOW/RUN, or agent/RUN: what FindRun takes for exactly this run.
func (r Run) String() string { return cmp.Or(r.Workflow, string(OfAgent)) + "/" + r.RunID }

func ofInfo(info state.Info) Run {
	return Run{RunID: info.Run, Kind: OfWorkflow, Workflow: info.Workflow, Status: info.Status, Version: info.Version, Created: info.Created, Updated: info.Updated}
}

func ofReport(report agent.Report) Run {
	return Run{RunID: report.RunID, Kind: OfAgent, Goal: report.Goal, Status: string(report.Status), Steps: report.Steps,
		Created: cmp.Or(report.Started, begun(report.RunID)), Updated: report.Updated, Warning: warningOf(report)}
}

// Runs returns the runs of the given kinds, the last changed first.
func (a *App) Runs(ctx context.Context, kinds ...Kind) ([]Run, error) {
	all := []Run{}
	if slices.Contains(kinds, OfWorkflow) {
		infos, err := a.Store.List(ctx, state.Filter{})
		if err != nil {
			return nil, err
		}
		for _, each := range infos {
			all = append(all, ofInfo(each))
		}
	}
	if slices.Contains(kinds, OfAgent) {
		reports, err := a.Agent.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, each := range reports {
			all = append(all, ofReport(each))
		}
	}
	slices.SortStableFunc(all, func(x, y Run) int { return instant(y.Updated).Compare(instant(x.Updated)) })
	return all, nil
}

// exactly returns the runs with an id, without reading the others.
func (a *App) exactly(ctx context.Context, id string, kinds []Kind) (found []Run, err error) {
	if (state.Key{Workflow: "any", Run: id}).Validate() != nil {
		return nil, nil
	}
	if slices.Contains(kinds, OfWorkflow) {
		infos, err := a.Store.List(ctx, state.Filter{Run: id})
		if err != nil {
			return nil, err
		}
		for _, each := range infos {
			found = append(found, ofInfo(each))
		}
	}
	if !slices.Contains(kinds, OfAgent) {
		return found, nil
	}
	report, err := a.Agent.Report(id)
	switch {
	case errors.Is(err, fault.UnknownRun) || errors.Is(err, fault.InvalidParams):
		return found, nil
	case errors.Is(err, fault.StateCorrupt): // whoever reads it says so
		report = agent.Report{RunID: id, Status: agent.StatusError}
	case err != nil:
		return nil, err
	}
	return append(found, ofReport(report)), nil
}

// warningOf says why a run of the agent does not go on, such as a label that no worker has,
// or cannot be read.
func warningOf(report agent.Report) string {
	if slices.Contains([]agent.Status{agent.StatusQueued, agent.StatusInterrupted, agent.StatusError}, report.Status) {
		return report.Warning
	}
	return ""
}

// instant reads a time of a list; the zero time if it has none.
func instant(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// lastRun means the run that was started last; with :NAME, of that workflow or of the agent.
const lastRun = "@last"

// FindRun returns the run that a person means by a word: its id, WORKFLOW/RUN, any
// beginning that only one run has, @last or @last:NAME. workflow narrows the search; it may
// be empty. UNKNOWN_RUN, INVALID_PARAMS if several runs are meant.
func (a *App) FindRun(ctx context.Context, workflow, word string, kinds ...Kind) (Run, error) {
	workflow, _, _ = strings.Cut(workflow, "@")
	found, err := a.exactly(ctx, word, kinds)
	found = ofThis(found, workflow)
	if err == nil && len(found) == 0 {
		found, err = a.Runs(ctx, kinds...)
		found = ofThis(found, workflow)
	}
	if err != nil {
		return Run{}, err
	}
	return pickRun(found, word)
}

// FindDeleted returns the run in the trash that a person means by a word, see FindRun; the
// last is the one that was deleted last.
func (a *App) FindDeleted(ctx context.Context, workflow, word string) (Run, error) {
	items, err := a.Store.Trash(ctx)
	if err != nil {
		return Run{}, err
	}
	var found []Run
	for _, each := range items { // the newest first; Undelete brings that back
		run := Run{RunID: each.Run, Kind: OfWorkflow, Workflow: each.Workflow, Created: each.Moved}
		if each.Run != "" && !slices.ContainsFunc(found, func(newer Run) bool { return newer.Key() == run.Key() }) {
			found = append(found, run)
		}
	}
	workflow, _, _ = strings.Cut(workflow, "@")
	run, err := pickRun(ofThis(found, workflow), word)
	if errors.Is(err, fault.UnknownRun) {
		err = fault.New(fault.UnknownRun, "the trash has no run %q", fault.Cut(word, 120)).Hinted(fault.From(err).Hint).Hinted(fault.Hint{Text: "savant runs lists those that are not deleted"})
	}
	return run, err
}

// FindHeld returns the run to which a session is held that a person means by a word, see
// FindRun; the last is the one for which a session called Think last.
func FindHeld(all []sessions.Held, word string) (Run, error) {
	var found []Run
	for _, each := range all {
		run := Run{RunID: each.Key.Run, Kind: OfWorkflow, Workflow: each.Key.Workflow, Created: each.Seen.UTC().Format(time.RFC3339Nano)}
		at := slices.IndexFunc(found, func(other Run) bool { return other.Key() == run.Key() })
		if at < 0 {
			found = append(found, run)
		} else if instant(run.Created).After(instant(found[at].Created)) {
			found[at] = run
		}
	}
	return pickRun(found, word)
}

// FindRunIn is FindRun in a store and its runs of the agent.
func FindRunIn(ctx context.Context, store state.Backend, ofAgent *memory.Store, workflow, word string) (Run, error) {
	infos, err := store.List(ctx, state.Filter{Workflow: workflow})
	if err != nil {
		return Run{}, err
	}
	found := []Run{}
	for _, each := range infos {
		found = append(found, ofInfo(each))
	}
	if workflow == "" {
		snapshots, err := ofAgent.List(ctx)
		if err != nil {
			return Run{}, err
		}
		for _, each := range snapshots {
			found = append(found, Run{RunID: each.SessionID, Kind: OfAgent, Created: cmp.Or(each.Started, begun(each.SessionID))})
		}
	}
	return pickRun(found, word)
}

func ofThis(all []Run, workflow string) []Run {
	return slices.DeleteFunc(all, func(each Run) bool { return workflow != "" && each.Workflow != workflow })
}

// pickRun returns the one of the runs that a word means, see FindRun.
func pickRun(all []Run, word string) (Run, error) {
	if name, last := strings.CutPrefix(word, lastRun); last {
		return newest(all, word, name)
	}
	found := matchRuns(all, word)
	switch len(found) {
	case 0:
		names := []string{lastRun}
		for _, each := range all {
			names = append(names, each.RunID)
		}
		return Run{}, fault.New(fault.UnknownRun, "no run %q", fault.Cut(word, 120)).Hinted(fault.HintOf(word, names))
	case 1:
		return found[0], nil
	}
	var names []string
	for _, each := range found[:min(len(found), 5)] {
		names = append(names, each.String())
	}
	return Run{}, fault.New(fault.InvalidParams, "%d runs are meant by %q: name one of %s", len(found), fault.Cut(word, 120), strings.Join(names, ", "))
}

// matchRuns returns the runs with an id, or WORKFLOW/RUN, or else those that begin so.
func matchRuns(all []Run, word string) []Run {
	var exact, runs []Run
	for _, each := range all {
		name := each.RunID
		if strings.Contains(word, "/") {
			name = each.String()
		}
		if name == word {
			exact = append(exact, each)
		}
		if word != "" && strings.HasPrefix(name, word) {
			runs = append(runs, each)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return runs
}

// newest returns the run that was started last; name is "" or :NAME.
func newest(all []Run, word, name string) (Run, error) {
	name, named := strings.CutPrefix(name, ":")
	found := slices.DeleteFunc(slices.Clone(all), func(each Run) bool { return named && cmp.Or(each.Workflow, string(OfAgent)) != name })
	if len(found) == 0 || !named && name != "" {
		return Run{}, fault.New(fault.UnknownRun, "no run %q: %s is the run that was started last, %s:NAME the last of a workflow", fault.Cut(word, 120), lastRun, lastRun)
	}
	return slices.MaxFunc(found, func(x, y Run) int { return instant(x.Created).Compare(instant(y.Created)) }), nil
}

// NewName returns ID_COLLISION if a workflow has a run of this name: a named run is a new
// one.
func (a *App) NewName(ctx context.Context, workflow, name string) error {
	_, err := a.Store.Records(ctx, state.Key{Workflow: workflow, Run: name}, 0, 1)
	if errors.Is(err, fault.UnknownRun) {
		return nil
	}
	if err != nil && !errors.Is(err, fault.StateCorrupt) {
		return err
	}
	return fault.New(fault.IDCollision, "%s has a run %q already: --run-id %s continues it, --name takes a new name", workflow, name, name)
}

// maxFinished is how many finished runs a search of the memory opens.
const maxFinished = 30

// finishedRuns returns the outcomes of the latest finished runs of workflows and of the
// agent.
func (a *App) finishedRuns(ctx context.Context) ([]repo.PastRun, error) {
	found, err := a.finishedWorkflows(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := a.finishedAnswers(ctx)
	return append(found, answers...), err
}

// finishedAnswers returns the agent's finished goals with its answers.
func (a *App) finishedAnswers(ctx context.Context) ([]repo.PastRun, error) {
	reports, err := a.Agent.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []repo.PastRun
	for _, each := range reports {
		if len(found) == maxFinished {
			break
		}
		if each.Status == agent.StatusOK {
			found = append(found, repo.PastRun{Workflow: "agent", Run: each.RunID, Summary: each.Goal + "\n" + each.Final, Time: begun(each.RunID)})
		}
	}
	return found, nil
}

// begun returns a run's start time from its id; empty for an id chosen by a user.
func begun(runID string) string {
	id, err := ulid.ParseStrict(runID)
	if err != nil {
		return ""
	}
	return ulid.Time(id.Time()).UTC().Format(time.RFC3339)
}

// finishedWorkflows returns the latest finished runs of workflows. It skips a run that
// cannot be opened: `savant state check` reports it.
func (a *App) finishedWorkflows(ctx context.Context) ([]repo.PastRun, error) {
	listed, err := a.Store.List(ctx, state.Filter{})
	if err != nil {
		return nil, err
	}
	var found []repo.PastRun
	for _, each := range listed {
		if len(found) == maxFinished {
			break
		}
		if each.Status != string(flow.Done) {
			continue
		}
		at, err := a.Think.Position(ctx, each.Workflow, each.Run)
		if err != nil || at.Final == nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		found = append(found, repo.PastRun{Workflow: each.Workflow, Run: each.Run, Summary: at.Final.Summary, Time: each.Updated})
	}
	return found, nil
}
