package hub

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"savant/agent"
	"savant/engines"
	"savant/fault"
	"savant/internal/access"
	"savant/think/state"
)

// latest is how many runs of each kind the overview shows, patience how long it waits
// for the engines' status.
const (
	latest   = 10
	patience = 2 * time.Second
)

type overviewView struct {
	Deciders  []Decider
	Engines   []engines.Health
	Runs      []runRow
	Agents    []agentRow
	Total     int         // runs of workflows
	AllOpen   int         // those of them that have not ended
	Open      []runRow    // the first of these: those that wait for a person come first
	Waiting   int         // for a person
	Inbox     []inboxItem // what a person is asked, the first of it
	Going     []agentRow
	AgentRuns int
	Calls     callsView
}

func (h *Hub) overview(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	list, err := h.options.Think.Store.List(ctx, state.Filter{})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	reports, err := h.options.Agent.List(ctx)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	open := openRuns(list, len(list))
	view := overviewView{Deciders: h.whoDecides(ctx), Engines: h.engines(ctx), Total: len(list), AllOpen: len(open), AgentRuns: len(reports), Calls: h.calls(r)}
	for _, each := range list[:min(len(list), latest)] {
		view.Runs = append(view.Runs, h.runRow(ctx, each))
	}
	for i, each := range open {
		asks := asksPerson(each)
		if i < runsPage {
			row := h.runRow(ctx, each)
			view.Open, asks = append(view.Open, row), row.Standing.WaitsFor == forPerson
		}
		if asks {
			view.Waiting++
		}
	}
	slices.SortStableFunc(view.Open, func(a, b runRow) int { return urgency(a) - urgency(b) })
	h.fillInbox(r, &view)
	title := "Overview"
	if asked := view.Waiting + len(view.Calls.Asked); asked > 0 {
		title = fmt.Sprintf("(%d) Overview", asked)
	}
	for i, each := range reports {
		if i < latest {
			view.Agents = append(view.Agents, agentRowOf(each))
		}
		if each.Status == agent.StatusRunning || each.Status == agent.StatusQueued || each.Status == agent.StatusWaiting {
			view.Going = append(view.Going, agentRowOf(each))
		}
	}
	h.show(w, r, refusalOf(r).status(), "overview.html", page{Title: title, At: "overview", Live: anyRun, View: view})
}

// inboxItem is a question to a person, with its run.
type inboxItem struct {
	runRow
	questionView
	NoAnswers string // why it cannot be answered here
}

// fillInbox adds the questions of the runs that wait for a person, to be answered in place:
// the one that waits longest is first. A long one is answered on the page of its run.
func (h *Hub) fillInbox(r *http.Request, view *overviewView) {
	for _, row := range view.Open {
		if row.Standing.WaitsFor != forPerson {
			continue
		}
		err := h.allowed(r, access.Approve)
		if err == nil {
			err = h.answerable(r.Context(), row.Key())
		}
		views, _ := h.shownQuestions(r, row.Key())
		for _, each := range views {
			item := inboxItem{runRow: row, questionView: each}
			switch {
			case err != nil:
				item.NoAnswers = fault.From(err).Details
			case !each.OnlyNo:
				item.NoAnswers = each.Barred
			}
			view.Inbox = append(view.Inbox, item)
		}
	}
	slices.SortStableFunc(view.Inbox, func(a, b inboxItem) int { return instant(a.Since).Compare(instant(b.Since)) })
	view.Inbox = view.Inbox[:min(len(view.Inbox), latest)]
	var shown []*about
	for i := range view.Calls.Asked {
		shown = append(shown, &view.Calls.Asked[i].about)
	}
	for i := range view.Inbox {
		shown = append(shown, &view.Inbox[i].about)
	}
	fit(shown)
}

// forPerson is the value of WaitsFor for a person.
const forPerson = "person"

// urgency orders runs by what a person must do.
func urgency(row runRow) int {
	switch {
	case row.Standing.WaitsFor == forPerson:
		return 0
	case row.Standing.Status == "blocked":
		return 1
	case row.Standing.Status == "running":
		return 3
	}
	return 2
}

// fresh is how long the status of deciders is cached.
const fresh = 10 * time.Second

// probed is the cached status of deciders.
type probed struct {
	mu    sync.Mutex
	found []Decider
	at    time.Time
}

// whoDecides returns the status of deciders, cached for a few seconds.
func (h *Hub) whoDecides(ctx context.Context) []Decider {
	h.deciders.mu.Lock()
	defer h.deciders.mu.Unlock()
	if time.Since(h.deciders.at) > fresh {
		asking, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		h.deciders.found, h.deciders.at = h.options.Standings.Deciders(asking), time.Now()
	}
	return h.deciders.found
}

// engines returns the engines' status without starting any.
func (h *Hub) engines(ctx context.Context) []engines.Health {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return h.options.Tools.Health(asking)
}

// agentRow is a run of the agent in a list.
type agentRow struct {
	Run, Status, Changed, Goal, Model string
	Steps, PromptTokens, OutputTokens int
}

func agentRowOf(report agent.Report) agentRow {
	return agentRow{Run: report.RunID, Status: string(report.Status), Changed: report.Updated, Goal: report.Goal, Model: report.Model,
		Steps: report.Steps, PromptTokens: report.PromptTokens, OutputTokens: report.OutputTokens}
}
