package hub

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"savant/fault"
	"savant/internal/access"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// runsPage is how many runs a page lists.
const runsPage = 50

// chosenPath receives what is done to several runs.
const chosenPath = "/runs/chosen"

// searched is how many open runs are read to filter by more than a listing has.
const searched = 500

// runRow is a run of a workflow in a list.
type runRow struct {
	state.Info
	Standing  Standing
	Imported  bool   // it has records of another installation
	By        string // who began it
	Successor string // the latest fork of a run that did not end well
	Pick      bool   // it can be chosen for what is done to several
}

func (h *Hub) runRow(ctx context.Context, run state.Info) runRow {
	imported, err := h.options.Think.Imports.Imported(ctx, run.Key())
	return runRow{Info: run, Standing: h.options.Standings.Standing(ctx, run), Imported: err == nil && imported > 0}
}

// runsFilter selects runs of a list. It is the query of the page's address.
type runsFilter struct{ Query, Workflow, Status, Waits, By, Since string }

// The choices of a filter. Open is every status of a run that has not ended.
const open = "open"

var (
	runStatuses = []string{open, "running", "waiting", "interrupted", "blocked", "done", "failed", "cancelled", state.StatusDamaged}
	runWaits    = []string{forPerson, "model", "tool"}
	spans       = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}
)

func runsFilterOf(r *http.Request) runsFilter {
	query := r.URL.Query()
	return runsFilter{Query: query.Get("q"), Workflow: query.Get("workflow"), Status: query.Get("status"), Waits: query.Get("waits"), By: query.Get("by"), Since: query.Get("since")}
}

// matchesListing reports whether a run fits, as far as its listing tells.
func (f runsFilter) matchesListing(run state.Info, now time.Time) bool {
	ended := hasEnded(run.Status) || run.Status == state.StatusDamaged
	if f.Status != "" && (ended && f.Status != run.Status || !ended && slices.Index(runStatuses, f.Status) > slices.Index(runStatuses, "blocked")) || f.Waits != "" && ended {
		return false
	}
	changed, err := time.Parse(time.RFC3339Nano, run.Updated)
	return contains(f.Query, run.Workflow, run.Run) && (spans[f.Since] == 0 || err == nil && now.Sub(changed) <= spans[f.Since])
}

// matchesStanding reports whether a run fits as it stands now.
func (f runsFilter) matchesStanding(at Standing) bool {
	return (f.Status == "" || f.Status == at.Status || f.Status == open && !hasEnded(at.Status)) && (f.Waits == "" || f.Waits == at.WaitsFor)
}

type runsView struct {
	runsFilter
	Filtered  bool
	Workflows []string
	Statuses  []string
	Waiting   []string // for whom a run can wait
	Spans     []string
	Who       []string   // who began runs
	Cut       int        // how many runs were searched, if there are more
	Imports   bool       // an export can be imported
	Picks     bool       // runs can be chosen
	Sent      url.Values // what was filled in to change runs
	Runs      []runRow
	Pager     pager
	Here      url.Values // the address of this page
}

func (h *Hub) listRuns(w http.ResponseWriter, r *http.Request) {
	view := runsView{runsFilter: runsFilterOf(r), Imports: h.allowed(r, access.Run) == nil, Workflows: suggested(h.options.Think.Library.Names()), Statuses: runStatuses, Waiting: runWaits,
		Spans: []string{"hour", "day", "week", "month"}, Here: without(r, "said"), Sent: refusalOf(r).sent}
	view.Filtered = view.runsFilter != runsFilter{}
	all, err := h.options.Think.Store.List(r.Context(), state.Filter{Workflow: plain(view.Workflow)})
	if err != nil && !errors.Is(err, fault.InvalidParams) { // no workflow has such a name
		h.fail(w, r, err)
		return
	}
	origins := h.origins(r.Context(), all)
	fits := h.fitting(r.Context(), all, origins, &view)
	from, to, pager := paged(r, "page", len(fits), runsPage, 0)
	view.Pager = pager
	picks := h.allowed(r, access.Guide) == nil
	for _, each := range fits[from:to] {
		row := h.runRow(r.Context(), each)
		row.By = origins.of[each.Key()].by
		row.Successor = origins.successor(each)
		row.Pick = picks && !hasEnded(row.Standing.Status) && !row.Imported
		view.Picks = view.Picks || row.Pick
		view.Runs = append(view.Runs, row)
	}
	view.Who = suggested(origins.who())
	h.show(w, r, refusalOf(r).status(), "runs.html", page{Title: "Runs", At: "runs", Live: anyRun, View: view})
}

// suggested returns as many of some names as a page offers.
func suggested(names []string) []string { return names[:min(len(names), listPage)] }

// fitting returns the runs that fit the filter of a view. Only some of those whose records
// have to be read are searched.
func (h *Hub) fitting(ctx context.Context, all []state.Info, origins origins, view *runsView) []state.Info {
	now := time.Now()
	all = slices.DeleteFunc(all, func(each state.Info) bool {
		return !view.matchesListing(each, now) || view.By != "" && origins.of[each.Key()].by != view.By
	})
	if view.Waits == "" && (view.Status == "" || hasEnded(view.Status) || view.Status == state.StatusDamaged) {
		return all
	}
	fits := map[state.Key]bool{}
	read := openRuns(all, searched)
	for _, each := range read {
		fits[each.Key()] = view.matchesStanding(h.options.Standings.Standing(ctx, each))
	}
	if len(read) < len(all) {
		view.Cut = searched
	}
	return slices.DeleteFunc(all, func(each state.Info) bool { return !fits[each.Key()] })
}

// openRuns returns the runs of a list that have not ended, at most some. First come those
// that wait for a person, the longest unchanged before the others: no number of newer runs
// may hide a question.
func openRuns(all []state.Info, most int) []state.Info {
	var asking, others []state.Info
	for _, each := range all {
		switch {
		case hasEnded(each.Status) || each.Status == state.StatusDamaged:
		case asksPerson(each):
			asking = append(asking, each)
		default:
			others = append(others, each)
		}
	}
	slices.Reverse(asking)
	open := append(asking, others...)
	return open[:min(len(open), most)]
}

// asksPerson reports whether a run waits for nobody but a person, as far as its listing tells.
func asksPerson(run state.Info) bool { return run.Status == string(flow.Waiting) }

// origin is what the first record of a run says, which never changes: who began it, and
// of which run it is a fork.
type origin struct{ by, fork string }

// origins are those of runs; forks has the latest fork of each run that has one.
type origins struct {
	of    map[state.Key]origin
	forks map[state.Key]string
}

// origins reads the first records of runs, each once, on all processors.
func (h *Hub) origins(ctx context.Context, runs []state.Info) origins {
	found := make([]*origin, len(runs))
	var next atomic.Int64
	var work sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(runs)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				found[i] = h.origin(ctx, runs[i])
			}
		})
	}
	work.Wait()
	out := origins{of: make(map[state.Key]origin, len(runs)), forks: map[state.Key]string{}}
	for i, each := range slices.Backward(runs) {
		if found[i] != nil {
			out.of[each.Key()] = *found[i]
			out.forks[state.Key{Workflow: each.Workflow, Run: found[i].fork}] = each.Run // the latest stays
		}
	}
	return out
}

// origin reads the first record of a run, once; nil if that is not possible.
func (h *Hub) origin(ctx context.Context, run state.Info) *origin {
	at := run.Key().String() + " " + run.Created // a name can be used again after its run was deleted
	if known, is := h.began.Load(at); is {
		return known.(*origin)
	}
	first, err := h.options.Think.Store.Records(ctx, run.Key(), 0, 1)
	if err != nil || len(first) == 0 {
		return nil
	}
	var data struct {
		Lineage struct {
			Run string `json:"run_id"`
		} `json:"lineage"`
	}
	_ = json.Unmarshal(first[0].Data, &data) // a damaged one has none
	found := &origin{think.EventOf(first[0]).By, data.Lineage.Run}
	h.began.Store(at, found)
	return found
}

// successor returns the latest fork of a run that did not end well; "" for none.
func (o origins) successor(run state.Info) string {
	if run.Status == string(flow.Done) {
		return ""
	}
	return o.forks[run.Key()]
}

// successorOf returns the successor of a run among the runs of its workflow.
func (h *Hub) successorOf(ctx context.Context, run state.Info) string {
	if !slices.Contains([]string{string(flow.Failed), string(flow.Cancelled), string(flow.Blocked)}, run.Status) {
		return ""
	}
	all, err := h.options.Think.Store.List(ctx, state.Filter{Workflow: run.Workflow})
	if err != nil {
		return "" // the page says why
	}
	return h.origins(ctx, all).successor(run)
}

// who returns who began runs.
func (o origins) who() (names []string) {
	for _, each := range o.of {
		names = append(names, each.by)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// changeRuns cancels or deletes the chosen runs of a list, or all that it shows. What
// cannot be changed stays and is told.
func (h *Hub) changeRuns(w http.ResponseWriter, r *http.Request) {
	chosen, act := r.PostForm["run"], r.PostFormValue("act")
	if r.PostFormValue("all") != "" {
		chosen = r.PostForm["shown"]
	}
	var failed []string
	for _, name := range chosen {
		if err := h.changeRunOf(r, act, keyOf(name)); err != nil {
			failed = append(failed, fault.Cut(name, 100)+": "+fault.From(err).Details)
		}
	}
	var err error
	switch {
	case len(chosen) == 0:
		err = fault.New(fault.InvalidParams, "no run is chosen: tick the runs of the list that are meant, or all of them")
	case len(failed) > 0:
		err = fault.New(fault.StateConflict, "%s of %d stayed as they are. %s", count(len(failed), "run"), len(chosen), strings.Join(failed, "; "))
	}
	if err != nil {
		h.again(w, r, err, nil, h.listRuns)
		return
	}
	http.Redirect(w, r, (&url.URL{Path: "/runs", RawQuery: with(r, "said", act+"-runs").Encode()}).String(), http.StatusSeeOther)
}

// changeRunOf cancels or deletes one of several runs.
func (h *Hub) changeRunOf(r *http.Request, act string, key state.Key) error {
	info, err := h.changeable(r.Context(), key)
	switch {
	case err != nil:
	case hasEnded(info.Status):
		err = fault.New(fault.InvalidTransition, "it is %s already", info.Status)
	case act == "cancel":
		err = h.cancel(r, key)
	case act != "delete":
		err = fault.New(fault.InvalidParams, "act: cancel or delete")
	case h.options.Standings.Driven(key):
		err = fault.New(fault.StateConflict, "another process drives it: cancel it first")
	default:
		_, err = h.options.Think.Reset(r.Context(), think.ResetInput{Caller: visitorFrom(r).person(), Workflow: key.Workflow, RunID: key.Run, Force: true})
	}
	return err
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
