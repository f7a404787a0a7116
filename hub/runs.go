package hub

import (
	"context"
	"errors"
	"net/http"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/state"
)

// runsPage is how many runs a page lists.
const runsPage = 50

// runRow is a run of a workflow in a list.
type runRow struct {
	state.Info
	Standing Standing
	Imported bool // it has records of another installation
}

func (h *Hub) runRow(ctx context.Context, run state.Info) runRow {
	imported, err := h.options.Think.Imports.Imported(ctx, run.Key())
	return runRow{run, h.options.Standings.Standing(ctx, run), err == nil && imported > 0}
}

type runsView struct {
	Workflow  string
	Workflows []string
	Imports   bool // an export can be imported
	Runs      []runRow
	Pager     pager
}

func (h *Hub) listRuns(w http.ResponseWriter, r *http.Request) {
	workflow := r.URL.Query().Get("workflow")
	// The listing reads two records per run; only the shown runs are opened.
	list, err := h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: workflow, Limit: 1})
	if errors.Is(err, fault.InvalidParams) { // no workflow has such a name
		list, err = &think.StateList{}, nil
	}
	if err == nil {
		from, to, pager := paged(r, "page", list.Total, runsPage, 0)
		view := runsView{Workflow: workflow, Imports: h.allowed(r, access.Run) == nil, Workflows: h.options.Think.Library.Names(), Pager: pager}
		if to > from {
			list, err = h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: workflow, Offset: from, Limit: to - from})
		}
		if err == nil {
			for _, each := range list.Runs {
				view.Runs = append(view.Runs, h.runRow(r.Context(), each))
			}
			h.show(w, r, refusalOf(r).status(), "runs.html", page{Title: "Runs", At: "runs", Live: anyRun, View: view})
			return
		}
	}
	h.fail(w, r, err)
}

// infoOf returns the listing entry of a run: UNKNOWN_RUN.
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

// compact returns a value as JSON on one line.
func compact(value any) string {
	raw, err := jsonvalue.Encode(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
