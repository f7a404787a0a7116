package hub

import (
	"encoding/json"
	"net/url"
	"strconv"

	"savant/fault"
	"savant/hub/events"
	"savant/telemetry"
)

// maxRowText is how much of an event its row shows, in bytes.
const maxRowText = 240

// eventRow is an event as a line of a list.
type eventRow struct {
	Number     int    // among those that the filter lets through, from 1
	Place      string // where it is in the trace
	Type, Time string
	Status     string
	Text       string
	Chosen     bool
	Link       url.Values // the same page with the details of the event
}

func rowOf(e events.Event) eventRow {
	if e.Type == "" {
		return eventRow{Place: e.Place.String(), Text: "This line of the trace cannot be read any more."}
	}
	return eventRow{Place: e.Place.String(), Type: string(e.Type), Time: e.Timestamp, Status: e.Status, Text: fault.Cut(textOf(e.Event), maxRowText)}
}

// textOf says what an event is about, as the command line says it.
func textOf(e telemetry.Event) string {
	for _, text := range []string{telemetry.Line(e), telemetry.RuntimeLine(e)} {
		if text != "" {
			return text
		}
	}
	if e.Step > 0 { // as savant runs trace has it
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

func (h *Hub) eventView(e events.Event) eventView {
	view := eventView{eventRow: rowOf(e), Step: e.Step, Action: e.Action, Tool: e.ToolName, Model: e.Model, DurationMS: e.DurationMS,
		PromptTokens: e.PromptTokens, OutputTokens: e.OutputTokens, CallID: e.CallID, Output: e.Output}
	view.Text = textOf(e.Event)
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
