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
	"savant/telemetry"
)

// How many rows a page has: of runs, events and steps.
const (
	agentsPage = 50
	eventsPage = 100
	groupsPage = 50
)

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
	view := agentsView{Query: r.URL.Query().Get("q"), Status: r.URL.Query().Get("status"), Statuses: []agent.Status{agent.StatusRunning, agent.StatusOK,
		agent.StatusError, agent.StatusCanceled, agent.StatusMaxSteps, agent.StatusStuck, agent.StatusWaiting, agent.StatusInterrupted}}
	reports = slices.DeleteFunc(reports, func(each agent.Report) bool {
		return view.Status != "" && string(each.Status) != view.Status || !contains(view.Query, each.Goal, each.RunID, each.Final)
	})
	from, to, pager := paged(r, "page", len(reports), agentsPage, 0)
	view.Pager = pager
	for _, each := range reports[from:to] {
		view.Runs = append(view.Runs, agentRowOf(each))
	}
	h.show(w, r, http.StatusOK, "agents.html", page{Title: "Agents", At: "agents", View: view})
}

// filter is which events of a run are shown. It is in the query of the address.
type filter struct {
	Types []string // none: all
	Query string
	Step  int // 0: all
}

func filterOf(r *http.Request) filter {
	query := r.URL.Query()
	step, _ := strconv.Atoi(query.Get("step"))
	return filter{Types: slices.DeleteFunc(slices.Clone(query["type"]), func(each string) bool { return each == "" }), Query: query.Get("q"), Step: step}
}

// shows reports whether an event is one of those that are asked for.
func (f filter) shows(e telemetry.Event, line []byte) bool {
	return (len(f.Types) == 0 || slices.Contains(f.Types, string(e.Type))) && (f.Step == 0 || f.Step == e.Step) && contains(f.Query, string(line))
}

// eventView is an event as a row and its details.
type eventView struct {
	Type, Time, Text           string
	Step                       int
	Action, Tool, Model        string
	Status                     string
	DurationMS                 float64
	PromptTokens, OutputTokens int
	Cost                       string
	Args, Output, Reasoning    string
	Error                      string
	Sections                   []section
	Metadata                   string
	CallID                     string
}

// section is a part of a prompt with its size.
type section struct {
	Name    string
	Tokens  int
	Trimmed int
}

func (h *Hub) eventView(e telemetry.Event) eventView {
	view := eventView{Type: string(e.Type), Time: e.Timestamp, Text: telemetry.Line(e), Step: e.Step, Action: e.Action, Tool: e.ToolName, Model: e.Model,
		Status: e.Status, DurationMS: e.DurationMS, PromptTokens: e.PromptTokens, OutputTokens: e.OutputTokens, CallID: e.CallID, Output: e.Output}
	if view.Text == "" {
		view.Text = telemetry.RuntimeLine(e)
	}
	if view.Text == "" && e.Step > 0 { // as savant runs trace has it
		view.Text = strconv.Itoa(e.Step) + " " + e.ToolName
	} else if view.Text == "" {
		view.Text = e.ToolName
	}
	if len(e.Args) > 0 {
		view.Args = h.indented(e.Args)
	}
	if e.Error != nil {
		view.Error = e.Error.Code + ": " + e.Error.Details
	}
	view.Reasoning, _ = e.Metadata["decision_summary"].(string)
	if cost, known := e.Metadata["cost"].(float64); known {
		view.Cost = strconv.FormatFloat(cost, 'g', 4, 64)
	}
	if raw, err := json.Marshal(e.Metadata["sections"]); err == nil {
		_ = json.Unmarshal(raw, &view.Sections) // a service outside may say it in another way: the metadata below have it
	}
	if len(e.Metadata) > 0 {
		view.Metadata = h.indented(e.Metadata)
	}
	return view
}

// group is one step of a run with its events.
type group struct {
	Step                       int
	Action, Tool, Model        string
	PromptTokens, OutputTokens int
	Count                      int
	Events                     []eventView
}

type agentView struct {
	agentRow
	Final, Because, Warning string
	Cost                    string
	Ends, Resume            bool // it can be ended, or gone on with
	Grouped                 bool
	Filter                  filter
	Types                   []telemetry.Type
	Total                   int // events of the run, without the filter
	Events                  []eventView
	Groups                  []group
	Pager                   pager
	Live                    url.Values // where events after these come from; nil where the page is not the last
	Timeline, ByStep        url.Values // addresses with the same filter
	Refresh                 url.Values // the address of the page
}

func (h *Hub) showAgent(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Report(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := agentView{agentRow: agentRowOf(report), Final: report.Final, Warning: report.Warning, Filter: filterOf(r), Types: telemetry.Types(),
		Grouped: r.URL.Query().Get("view") == "grouped", Timeline: with(r, "view", "timeline"), ByStep: with(r, "view", "grouped"), Refresh: r.URL.Query()}
	view.Ends = report.Status == agent.StatusRunning
	view.Resume = report.Status == agent.StatusInterrupted || report.Status == agent.StatusCanceled || report.Status == agent.StatusMaxSteps
	if report.Error != nil {
		view.Because = report.Error.Error()
	}
	if report.Cost != nil {
		view.Cost = strconv.FormatFloat(*report.Cost, 'g', 4, 64)
	}
	found, cursor, err := h.eventsOf(report.RunID, &view)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if view.Grouped {
		view.Groups = h.groups(r, found, &view.Pager)
	} else {
		from, to, pager := paged(r, "page", len(found), eventsPage, last(len(found), eventsPage))
		view.Pager = pager
		for _, each := range found[from:to] {
			view.Events = append(view.Events, h.eventView(each))
		}
		if pager.Older == nil {
			view.Live = with(r, "after", cursor.String())
		}
	}
	h.show(w, r, http.StatusOK, "agent.html", page{Title: report.RunID, At: "agents", View: view})
}

// eventsOf returns the events of a run that the filter shows, and counts them all.
// cursor is after the last of them: what is written later is sent live.
func (h *Hub) eventsOf(run string, view *agentView) (found []telemetry.Event, cursor telemetry.Cursor, err error) {
	_, err = h.options.Recorder.Since(&cursor, run, func(e telemetry.Event, line []byte) bool {
		view.Total++
		if view.Filter.shows(e, line) {
			found = append(found, e)
		}
		return true
	})
	return found, cursor, err
}

// groups returns a page of steps with their events.
func (h *Hub) groups(r *http.Request, events []telemetry.Event, at *pager) []group {
	steps := map[int][]telemetry.Event{}
	var order []int
	for _, each := range events {
		if steps[each.Step] == nil {
			order = append(order, each.Step)
		}
		steps[each.Step] = append(steps[each.Step], each)
	}
	slices.Sort(order)
	from, to, pager := paged(r, "page", len(order), groupsPage, last(len(order), groupsPage))
	*at = pager
	var out []group
	for _, step := range order[from:to] {
		made := group{Step: step, Count: len(steps[step])}
		for _, each := range steps[step] {
			if each.Type == telemetry.ReasoningStep {
				made.Action, made.Tool, made.Model = each.Action, each.ToolName, each.Model
				made.PromptTokens, made.OutputTokens = each.PromptTokens, each.OutputTokens
			}
			if len(made.Events) < eventsPage {
				made.Events = append(made.Events, h.eventView(each))
			}
		}
		out = append(out, made)
	}
	return out
}

// downloadTrace sends the events of a run as they are in the trace, one a line.
func (h *Hub) downloadTrace(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Report(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	download(w, "application/x-ndjson", "trace-"+report.RunID+".ndjson")
	err = h.options.Recorder.Written(report.RunID, func(_ telemetry.Event, line []byte) {
		raw := h.options.Redactor.JSON(json.RawMessage(strings.TrimSuffix(string(line), "\n")))
		_, _ = w.Write(append(raw, '\n')) // whoever asked may be gone
	})
	if err != nil {
		h.options.Logger.WarnContext(r.Context(), "a trace was not sent whole", "run", report.RunID, "cause", err.Error())
	}
}

// downloadSession sends what the journal of a run holds, as savant runs show --json.
func (h *Hub) downloadSession(w http.ResponseWriter, r *http.Request) {
	report, err := h.options.Agent.Report(r.PathValue("run"))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	text := h.indented(report)
	download(w, "application/json", "session-"+report.RunID+".json")
	_, _ = w.Write([]byte(text + "\n")) // whoever asked may be gone
}

// download has a browser keep what follows, under a name.
func download(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`) // the ids of runs are letters, digits, _ and -
}

// cancelAgent ends a run, in whatever process it is.
func (h *Hub) cancelAgent(w http.ResponseWriter, r *http.Request) {
	run := r.PathValue("run")
	if err := h.options.Agent.Cancel(run); err != nil {
		h.problem(w, r, statusOf(err), fault.From(err))
		return
	}
	http.Redirect(w, r, "/diagnostics/agents/"+run, http.StatusSeeOther)
}
