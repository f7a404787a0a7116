package hub

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"savant/fault"
	"savant/hub/events"
	"savant/internal/jsonvalue"
	"savant/telemetry"
)

const (
	eventsPage = 60  // events on a page; timeline.js asks for as many
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
	Chips   []chip
	Grouped bool
	Epoch   string
	Total   int // events of the run, without the filter
	Found   int // events that match the filter
	Events  []eventRow
	Cards   []card
	Ahead   url.Values // of a step that is shown alone: the one before, and the one after
	Behind  url.Values
	Pager   pager
	Rows    url.Values // the query that asks for more rows of this filter
	Chosen  *eventView
	At      int  // number of the chosen event, from 1; 0 if it does not match the filter
	Gone    bool // the chosen event is no longer in the trace
	Close   url.Values
	Unread  string // why the trace cannot be read
}

// chip is a filter by a type of events, with how many there are.
type chip struct {
	Type   telemetry.Type
	Count  int
	Chosen bool
	Link   url.Values // the page with the filter turned on or off
}

// chips returns a filter for each type of events that the run has, or that is chosen.
func chips(r *http.Request, counts map[telemetry.Type]int, chosen []string) (out []chip) {
	for _, each := range telemetry.Types() {
		at := slices.Index(chosen, string(each))
		if at < 0 && counts[each] == 0 {
			continue
		}
		link := without(r, "page", "event", "type")
		link["type"] = append(slices.Clone(chosen), string(each))
		if at >= 0 {
			link["type"] = slices.Delete(slices.Clone(chosen), at, at+1)
		}
		out = append(out, chip{each, counts[each], at >= 0, link})
	}
	return out
}

// selectEvents brings the index of events up to date and returns the events of a run
// that match the request's filter.
func (h *Hub) selectEvents(r *http.Request, run string) (events.Selection, error) {
	if err := h.index.Refresh(); err != nil {
		return events.Selection{}, err
	}
	return h.index.Select(run, filterOf(r))
}

// isGrouped reports whether a request is for the steps of a run, and not for its events: an
// address that names an event or a type is that of a timeline.
func isGrouped(r *http.Request) bool {
	query := r.URL.Query()
	if view := query.Get("view"); view != "" {
		return view == "grouped"
	}
	return !query.Has("event") && !query.Has("type")
}

func (h *Hub) fillTimeline(r *http.Request, run string, view *timeline) error {
	view.Filter, view.Grouped = filterOf(r), isGrouped(r)
	selected, err := h.selectEvents(r, run)
	if err != nil {
		return err
	}
	view.Epoch, view.Total, view.Found = selected.Epoch, selected.Total, selected.Len()
	view.Chips = chips(r, selected.Counts, view.Filter.Types)
	if step := view.Filter.Step; step > 0 {
		view.Ahead, view.Behind = with(r, "step", strconv.Itoa(step-1)), with(r, "step", strconv.Itoa(step+1))
	}
	view.Rows, view.Close = without(r, "event", "page", "view"), timelineWithout(r, "event")
	if err := h.choose(r, run, selected, view); err != nil {
		return err
	}
	if view.Grouped {
		view.Cards, err = h.cards(r, run, selected, view.Filter.Step, &view.Pager)
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

// timelineWithout returns a request's query without some names, for the timeline.
func timelineWithout(r *http.Request, names ...string) url.Values {
	query := without(r, names...)
	query.Set("view", "timeline")
	return query
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
		rows[i].Link = timelineWithout(r, "from", "count")
		rows[i].Link.Set("event", rows[i].Place)
	}
	return rows, nil
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
		text, err := rendered(h.pages, "row", each)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		sent.Rows = append(sent.Rows, text)
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
	view := timeline{Chosen: found, Gone: found == nil, Close: timelineWithout(r, "event")}
	text, err := rendered(h.pages, "details", clean(h.options.Redactor, view))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(text)) // fails only if the browser is gone
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
func (h *Hub) outputOf(text string) (out []outputPart) {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return []outputPart{{Text: text}}
	}
	raw := h.options.Redactor.JSON(json.RawMessage(text))
	for name, value := range jsonvalue.Members(raw) {
		out = append(out, outputPart{name, h.textOf(value)})
	}
	if out == nil {
		return []outputPart{{Text: h.textOf(raw)}}
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
