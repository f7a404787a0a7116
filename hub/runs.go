package hub

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// How many rows a page of runs, of steps and of records has.
const (
	runsPage    = 50
	stepsPage   = 200
	recordsPage = 100
)

// runRow is a run of a workflow in a list.
type runRow struct {
	state.Info
	Standing Standing
}

func (h *Hub) runRow(ctx context.Context, run state.Info) runRow {
	return runRow{run, h.options.Standings.Standing(ctx, run)}
}

type runsView struct {
	Workflow  string
	Workflows []string
	Runs      []runRow
	Pager     pager
}

func (h *Hub) listRuns(w http.ResponseWriter, r *http.Request) {
	workflow := r.URL.Query().Get("workflow")
	// The listing reads two records of a run; where it stands is asked of the shown alone.
	list, err := h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: workflow, Limit: 1})
	if err == nil {
		from, to, pager := paged(r, "page", list.Total, runsPage, 0)
		view := runsView{Workflow: workflow, Workflows: h.options.Think.Library.Names(), Pager: pager}
		if to > from {
			list, err = h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: workflow, Offset: from, Limit: to - from})
		}
		if err == nil {
			for _, each := range list.Runs {
				view.Runs = append(view.Runs, h.runRow(r.Context(), each))
			}
			h.show(w, r, http.StatusOK, "runs.html", page{Title: "Runs", At: "runs", View: view})
			return
		}
	}
	h.fail(w, r, err)
}

type runView struct {
	state.Info
	Standing    Standing
	Damage      string // why the state cannot be shown
	Release     string
	Drift       bool
	Because     string
	Imported    int
	Began       string
	Params      string
	Vars        string
	Steps       []flow.StepStatus
	StepPager   pager
	History     []think.Event
	Pager       pager
	Checkpoints []state.CheckpointInfo
	ForkRun     string
	ForkVersion int
}

func (h *Hub) showRun(w http.ResponseWriter, r *http.Request) {
	ctx, key := r.Context(), state.Key{Workflow: r.PathValue("workflow"), Run: r.PathValue("run")}
	info, err := h.infoOf(ctx, key)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := runView{Info: info, Standing: h.options.Standings.Standing(ctx, info)}
	found, err := h.options.Think.StateGet(ctx, think.StateGetInput{Workflow: key.Workflow, RunID: key.Run})
	if err == nil {
		err = h.fillRun(r, &view, found, key)
	}
	if err != nil {
		view.Damage = fault.From(err).Message()
	}
	// The history needs no replay, so a damaged run may have one.
	events, err := h.options.Keeper.History(ctx, key)
	if err == nil {
		from, to, pager := paged(r, "records", len(events), recordsPage, last(len(events), recordsPage))
		view.History, view.Pager = events[from:to], pager
		if len(events) > 0 {
			view.Began = events[0].Time
		}
	} else if view.Damage == "" {
		view.Damage = fault.From(err).Message()
	}
	h.show(w, r, http.StatusOK, "run.html", page{Title: key.Run, At: "runs", View: view})
}

// infoOf returns the line of a run in the listing: UNKNOWN_RUN.
func (h *Hub) infoOf(ctx context.Context, key state.Key) (state.Info, error) {
	if err := key.Validate(); err != nil {
		return state.Info{}, fault.New(fault.UnknownRun, "there is no run %q of a workflow %q", fault.Cut(key.Run, 100), fault.Cut(key.Workflow, 100))
	}
	listed, err := h.options.Think.Store.List(ctx, state.Filter(key))
	if err == nil && len(listed) == 0 {
		err = fault.New(fault.UnknownRun, "there is no run %q of a workflow %q", key.Run, key.Workflow)
	}
	if err != nil {
		return state.Info{}, err
	}
	return listed[0], nil
}

// fillRun takes over the state of a run.
func (h *Hub) fillRun(r *http.Request, view *runView, found *think.StateGet, key state.Key) error {
	whole := found.Snapshot
	view.Release, view.Drift, view.Imported = whole.Release, found.Drift, found.Imported
	view.Checkpoints = found.Checkpoints
	if whole.Error != nil {
		view.Because = whole.Error.Error()
	}
	if found.Lineage != nil {
		view.ForkRun, view.ForkVersion = found.Lineage.Run, found.Lineage.Version
	}
	view.Params, view.Vars = h.indented(whole.Params), h.indented(whole.Vars)
	steps, err := h.stepsOf(r.Context(), key)
	if err != nil {
		return err
	}
	from, to, pager := paged(r, "steps", len(steps), stepsPage, 0)
	view.Steps, view.StepPager = slices.Clone(steps[from:to]), pager
	return nil
}

// stepsOf returns all steps of a run: a page of the state has only so many.
func (h *Hub) stepsOf(ctx context.Context, key state.Key) (flow.Statuses, error) {
	found, err := h.options.Think.StateGet(ctx, think.StateGetInput{Workflow: key.Workflow, RunID: key.Run, Section: "steps", Limit: -1})
	if err != nil {
		return nil, err
	}
	return found.Snapshot.Steps, nil
}

// compact is a value as JSON in one line.
func compact(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
