package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"savant/fault"
	"savant/hub/events"
	"savant/telemetry"
)

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
