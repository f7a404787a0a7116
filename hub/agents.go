package hub

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/agent"
	"savant/fault"
	"savant/internal/access"
	"savant/telemetry"
)

// agentsPage is how many runs a page lists.
const agentsPage = 50

type agentsView struct {
	Query, Status string
	Statuses      []agent.Status
	Runs          []agentRow
	Pager         pager
}

func (h *Hub) listAgents(w http.ResponseWriter, r *http.Request) {
	reports, err := h.options.Agent.List(r.Context())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := agentsView{Query: r.URL.Query().Get("q"), Status: r.URL.Query().Get("status"), Statuses: []agent.Status{agent.StatusRunning, agent.StatusQueued, agent.StatusOK,
		agent.StatusError, agent.StatusCanceled, agent.StatusMaxSteps, agent.StatusStuck, agent.StatusWaiting, agent.StatusInterrupted}}
	reports = slices.DeleteFunc(reports, func(each agent.Report) bool {
		return view.Status != "" && string(each.Status) != view.Status || !contains(view.Query, each.Goal, each.RunID, each.Final)
	})
	from, to, pager := paged(r, "page", len(reports), agentsPage, 0)
	view.Pager = pager
	for _, each := range reports[from:to] {
		view.Runs = append(view.Runs, agentRowOf(each))
	}
	h.show(w, r, http.StatusOK, "agents.html", page{Title: "Agents", At: "agents", Live: anyRun, View: view})
}

type agentView struct {
	agentRow
	Final, Because, Warning string
	Cost                    string
	Ends, Resume, Continue  bool   // which actions the run allows; Continue is with a new goal
	Lacks                   string // why the visitor may not use them
	NewGoal                 string // as it was filled in
	timeline
	Timeline, ByStep url.Values // links with the same filter
	Refresh          url.Values // link to the same page
}

func (h *Hub) showAgent(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Summary(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := agentView{agentRow: agentRowOf(report), Final: report.Final, Warning: report.Warning, Timeline: with(r, "view", "timeline"),
		ByStep: with(r, "view", "grouped"), Refresh: r.URL.Query()}
	view.NewGoal = refusalOf(r).sent.Get("goal")
	allowed := h.allowed(r, access.Run)
	if allowed != nil {
		view.Lacks = fault.From(allowed).Details + ", so it cannot cancel or continue this run"
	}
	view.Ends = report.Status == agent.StatusRunning && allowed == nil
	view.Continue = report.Status != agent.StatusRunning && allowed == nil
	view.Resume = view.Continue && (report.Status == agent.StatusInterrupted || report.Status == agent.StatusCanceled || report.Status == agent.StatusMaxSteps)
	if report.Error != nil {
		view.Because = report.Error.Error()
	}
	view.Cost = report.Describe(amount)
	if err := h.fillTimeline(r, report.RunID, &view.timeline); err != nil {
		view.Unread = fault.From(err).Error()
	}
	for i, each := range view.Cards {
		if each.Action == "finish" && strings.HasPrefix(report.Final, strings.TrimSuffix(each.Reasoning, "…")) {
			view.Cards[i].Reasoning = "" // the answer is above
		}
	}
	h.show(w, r, refusalOf(r).status(), "agent.html", page{Title: report.RunID, At: "agents", Live: report.RunID, View: view})
}

// amount formats a cost.
func amount(cost float64) string { return strconv.FormatFloat(cost, 'g', 4, 64) }

// downloadTrace sends the events of a run as NDJSON.
func (h *Hub) downloadTrace(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Summary(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	sent := false
	err = h.options.Recorder.ReadRun(report.RunID, func(_ telemetry.Event, line []byte) {
		if !sent {
			download(w, "application/x-ndjson", "trace-"+report.RunID+".ndjson")
			sent = true
		}
		raw := h.options.Redactor.JSON(json.RawMessage(strings.TrimSuffix(string(line), "\n")))
		_, _ = w.Write(append(raw, '\n')) // the client may be gone
	})
	switch {
	case err != nil && sent:
		h.options.Logger.WarnContext(r.Context(), "a trace was not sent completely", "run", report.RunID, "cause", err.Error())
		panic(http.ErrAbortHandler) // so that the browser reports an incomplete download
	case err != nil:
		h.fail(w, r, err)
	case !sent:
		download(w, "application/x-ndjson", "trace-"+report.RunID+".ndjson")
	}
}

// downloadSession sends the journal's content, as savant runs show --json.
func (h *Hub) downloadSession(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Report(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	text := h.indented(report)
	download(w, "application/json", "session-"+report.RunID+".json")
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}

// download makes a browser save the response under a name.
func download(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`) // the ids of runs are letters, digits, _ and -
}

// cancelAgent cancels a run, in whatever process it is.
func (h *Hub) cancelAgent(w http.ResponseWriter, r *http.Request) {
	run := r.PathValue("run")
	h.finish(w, r, h.options.Agent.Cancel(run), h.showAgent, "/diagnostics/agents/"+url.PathEscape(run), "canceled")
}
