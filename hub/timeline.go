package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"savant/fault"
	"savant/hub/events"
	"savant/telemetry"
)

const (
	eventsPage = 100 // events on a page
	groupsPage = 50  // steps on a page, when events are grouped
	maxRows    = 500 // rows in one response to a page that scrolls
)

// filterOf reads the filter of a run's events from the request's query.
func filterOf(r *http.Request) events.Filter {
	query := r.URL.Query()
	step, _ := strconv.Atoi(query.Get("step"))
	return events.Filter{Types: slices.DeleteFunc(slices.Clone(query["type"]), func(each string) bool { return each == "" }), Query: query.Get("q"), Step: step}
}

// timeline is a page of a run's events, and the details of the chosen one.
type timeline struct {
	Filter  events.Filter
	Types   []telemetry.Type
	Grouped bool
	Epoch   string
	Total   int // events of the run, without the filter
	Found   int // events that match the filter
	Events  []eventRow
	Groups  []group
	Pager   pager
	Rows    url.Values // the query that asks for more rows of this filter
	Chosen  *eventView
	At      int  // number of the chosen event, from 1; 0 if it does not match the filter
	Gone    bool // the chosen event is no longer in the trace
	Close   url.Values
	Unread  string // why the trace cannot be read
}

// group is one step of a run with its events.
type group struct {
	Step                       int
	Action, Tool, Model        string
	PromptTokens, OutputTokens int
	Count                      int
	Failed                     string // the status of a call that failed
	Events                     []eventRow
}

// selectEvents brings the index of events up to date and returns the events of a run
// that match the request's filter.
func (h *Hub) selectEvents(r *http.Request, run string) (events.Selection, error) {
	if err := h.index.Refresh(); err != nil {
		return events.Selection{}, err
	}
	return h.index.Select(run, filterOf(r))
}

func (h *Hub) fillTimeline(r *http.Request, run string, view *timeline) error {
	view.Filter, view.Types, view.Grouped = filterOf(r), telemetry.Types(), r.URL.Query().Get("view") == "grouped"
	selected, err := h.selectEvents(r, run)
	if err != nil {
		return err
	}
	view.Epoch, view.Total, view.Found = selected.Epoch, selected.Total, selected.Len()
	view.Rows, view.Close = without(r, "event", "page", "view"), without(r, "event")
	if err := h.choose(r, run, selected, view); err != nil {
		return err
	}
	if view.Grouped {
		view.Groups, err = h.groups(r, run, selected, &view.Pager)
		return err
	}
	shown := last(view.Found, eventsPage)
	if view.At > 0 {
		shown = (view.At - 1) / eventsPage
	}
	from, to, pager := paged(r, "page", view.Found, eventsPage, shown)
	view.Pager = pager
	view.Events, err = h.rows(r, selected, from, to)
	return err
}

// choose fills in the details of the event that the request's query names.
func (h *Hub) choose(r *http.Request, run string, selected events.Selection, view *timeline) error {
	place, named := telemetry.ParsePlace(r.URL.Query().Get("event"))
	if !named {
		return nil
	}
	found, err := h.eventAt(run, place)
	if err != nil || found == nil {
		view.Gone = err == nil
		return err
	}
	view.Chosen = found
	view.At = selected.Find(place) + 1
	return nil
}

// eventAt returns the details of an event of a run, or nil if the run has no event at
// that place.
func (h *Hub) eventAt(run string, place telemetry.Place) (*eventView, error) {
	found, err := h.index.Read([]telemetry.Place{place})
	if err != nil || found[0].Type == "" || found[0].RunID != run {
		return nil, err
	}
	view := h.eventView(found[0])
	return &view, nil
}

// rows returns the selected events from number from to before number to, from 0.
func (h *Hub) rows(r *http.Request, selected events.Selection, from, to int) ([]eventRow, error) {
	found, err := h.index.Read(selected.Places(from, to))
	if err != nil {
		return nil, err
	}
	chosen := r.URL.Query().Get("event")
	rows := make([]eventRow, len(found))
	for i, each := range found {
		rows[i] = rowOf(each)
		rows[i].Number, rows[i].Chosen = from+i+1, rows[i].Place == chosen
		rows[i].Link = with(r, "event", rows[i].Place)
		rows[i].Link.Del("from")
		rows[i].Link.Del("count")
	}
	return rows, nil
}

// groups returns a page of steps with their events. Each has the step's decision, even
// if the filter excludes that event.
func (h *Hub) groups(r *http.Request, run string, selected events.Selection, at *pager) ([]group, error) {
	decided, err := h.index.Select(run, events.Filter{Types: []string{string(telemetry.ReasoningStep)}})
	if err != nil {
		return nil, err
	}
	decisions := map[int]telemetry.Place{}
	for i := range decided.Len() {
		decisions[decided.Step(i)] = decided.Place(i)
	}
	steps := map[int][]telemetry.Place{}
	var order []int
	for i := range selected.Len() {
		step := selected.Step(i)
		if steps[step] == nil {
			order = append(order, step)
		}
		steps[step] = append(steps[step], selected.Place(i))
	}
	slices.Sort(order)
	from, to, pager := paged(r, "page", len(order), groupsPage, last(len(order), groupsPage))
	*at = pager
	var out []group
	for _, step := range order[from:to] {
		shown := steps[step][:min(len(steps[step]), eventsPage)]
		made := group{Step: step, Count: len(steps[step])}
		if place, known := decisions[step]; known {
			shown = append(slices.Clone(shown), place)
		}
		found, err := h.index.Read(shown)
		if err != nil {
			return nil, err
		}
		if _, known := decisions[step]; known {
			decision := found[len(found)-1]
			found = found[:len(found)-1]
			made.Action, made.Tool, made.Model = decision.Action, decision.ToolName, decision.Model
			made.PromptTokens, made.OutputTokens = decision.PromptTokens, decision.OutputTokens
		}
		for _, each := range found {
			row := rowOf(each)
			row.Link = with(r, "event", row.Place)
			if each.Type == telemetry.ToolCallCompleted && mark(each.Status) == "bad" {
				made.Failed = each.Status
			}
			made.Events = append(made.Events, row)
		}
		out = append(out, made)
	}
	return out, nil
}

// sentRows is the response to a page that scrolls: rows as HTML, and how many events
// there are.
type sentRows struct {
	Epoch string   `json:"epoch"`
	Total int      `json:"total"`
	Found int      `json:"found"`
	From  int      `json:"from"`
	Rows  []string `json:"rows"`
}

// sendRows sends count rows, beginning with number from. The first event is number 0.
func (h *Hub) sendRows(w http.ResponseWriter, r *http.Request) {
	run := r.PathValue("run")
	selected, err := h.selectEvents(r, run)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	from, wrong := strconv.Atoi(r.URL.Query().Get("from"))
	count, wrongToo := strconv.Atoi(r.URL.Query().Get("count"))
	if wrong != nil || wrongToo != nil || from < 0 || count < 0 || count > maxRows {
		h.fail(w, r, fault.New(fault.InvalidParams, "from and count: expected numbers from 0, count up to %d", maxRows))
		return
	}
	from = min(from, selected.Len())
	rows, err := h.rows(r, selected, from, min(from+count, selected.Len()))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	sent := sentRows{Epoch: selected.Epoch, Total: selected.Total, Found: selected.Len(), From: from, Rows: []string{}}
	for _, each := range clean(h.options.Redactor, rows) {
		var text bytes.Buffer
		if err := h.pages.ExecuteTemplate(&text, "row", each); err != nil {
			h.fail(w, r, fault.New(fault.Internal, "a row of the timeline: %w", err))
			return
		}
		sent.Rows = append(sent.Rows, text.String())
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sent) // fails only if the browser is gone
}

// sendEvent sends the details of one event as HTML.
func (h *Hub) sendEvent(w http.ResponseWriter, r *http.Request) {
	place, named := telemetry.ParsePlace(r.URL.Query().Get("event"))
	if !named {
		h.fail(w, r, fault.New(fault.InvalidParams, "event: expected a place in the trace"))
		return
	}
	found, err := h.eventAt(r.PathValue("run"), place)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := timeline{Chosen: found, Gone: found == nil, Close: without(r, "event")}
	var text bytes.Buffer
	if err := h.pages.ExecuteTemplate(&text, "details", clean(h.options.Redactor, view)); err != nil {
		h.fail(w, r, fault.New(fault.Internal, "the details of an event: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // fails only if the browser is gone
}

// maxRowText is how much of an event its row shows, in bytes.
const maxRowText = 240

// eventRow is an event as a row of a list.
type eventRow struct {
	Number     int    // among the events of the filter, from 1
	Place      string // its place in the trace
	Type, Time string
	Status     string
	Text       string
	Chosen     bool
	Link       url.Values // the same page with the event's details
}

func rowOf(e events.Event) eventRow {
	if e.Type == "" {
		return eventRow{Place: e.Place.String(), Text: "This line of the trace can no longer be read."}
	}
	return eventRow{Place: e.Place.String(), Type: string(e.Type), Time: e.Timestamp, Status: e.Status, Text: fault.Cut(textOf(e.Event), maxRowText)}
}

// textOf describes an event in the words of the command line.
func textOf(e telemetry.Event) string {
	for _, text := range []string{telemetry.Line(e), telemetry.RuntimeLine(e)} {
		if text != "" {
			return text
		}
	}
	if e.Step > 0 { // as in savant runs trace
		return strconv.Itoa(e.Step) + " " + e.ToolName
	}
	return e.ToolName
}

// eventView are the details of an event.
type eventView struct {
	eventRow
	Step                       int
	Action, Tool, Model        string
	DurationMS                 float64
	PromptTokens, OutputTokens int
	Cost                       string
	Args, Reasoning            string
	Output                     []outputPart
	Error                      string
	Sections                   []section
	Metadata                   string
	CallID                     string
}

// outputPart is a member of a tool's output, or the whole if it is no object: strings
// as they are, other values as JSON.
type outputPart struct{ Name, Text string }

// section is a part of a prompt with its size.
type section struct {
	Name    string
	Tokens  int
	Trimmed int
}

func (h *Hub) eventView(e events.Event) eventView {
	view := eventView{eventRow: rowOf(e), Step: e.Step, Action: e.Action, Tool: e.ToolName, Model: e.Model, DurationMS: e.DurationMS,
		PromptTokens: e.PromptTokens, OutputTokens: e.OutputTokens, CallID: e.CallID, Output: h.outputOf(e.Output)}
	view.Text = textOf(e.Event)
	if len(e.Args) > 0 {
		view.Args = h.indented(e.Args)
	}
	if e.Error != nil {
		view.Error = e.Error.Code + ": " + e.Error.Details
	}
	view.Reasoning, _ = e.Metadata["decision_summary"].(string)
	if cost, known := e.Metadata["cost"].(float64); known {
		view.Cost = amount(cost)
	}
	if raw, err := json.Marshal(e.Metadata["sections"]); err == nil {
		_ = json.Unmarshal(raw, &view.Sections) // an external service may use another format: the metadata below have it
	}
	if len(e.Metadata) > 0 {
		view.Metadata = h.indented(e.Metadata)
	}
	return view
}

// outputOf splits a tool's output into members. A truncated output is not JSON and
// stays whole.
func (h *Hub) outputOf(text string) []outputPart {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return []outputPart{{Text: text}}
	}
	raw := h.options.Redactor.JSON(json.RawMessage(text))
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return []outputPart{{Text: h.textOf(raw)}}
	}
	var out []outputPart
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return []outputPart{{Text: h.textOf(raw)}}
		}
		out = append(out, outputPart{fmt.Sprint(name), h.textOf(value)})
	}
	if out == nil {
		return []outputPart{{Text: "{}"}}
	}
	return out
}

// textOf returns a string as it is, and any other value as JSON.
func (h *Hub) textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return text
	}
	return h.indented(raw)
}
