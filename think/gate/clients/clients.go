// Package clients knows the hooks of each client: how its events read, and how it is
// answered. A row of the table is a client; what they share is written once.
package clients

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/gate"
)

// Client is a row: where the members of a client's event are, and its answers.
type Client struct {
	Name string
	// The members of the event's JSON, by path, the first that is there. A path goes
	// down by dots.
	session, event, tool, input, output, folder, project, agent []string
	// kinds are the client's names of the events that matter; others are gate.Other.
	kinds map[string]gate.Kind
	// amend completes an event that a row alone cannot say; it may be nil.
	amend func(said payload, e *gate.Event)
	// refuse and hold build the client's replies that refuse a tool call and that keep the
	// model's turn from ending. hold is nil if the client does not support it.
	refuse, hold func(event, reason string) any
	// status is the exit status of a refusal, where the client reads no JSON: then
	// the reason goes to stderr.
	status int
	// silent clients get no output for an allowed event; others get {}.
	silent bool
}

// Answer is the output and exit status of the hook's program.
type Answer struct {
	Stdout, Stderr string
	Exit           int
}

// Names lists the clients.
func Names() []string {
	var names []string
	for _, each := range table() {
		names = append(names, each.Name)
	}
	return names
}

// Find returns the row of a client: INVALID_PARAMS.
func Find(name string) (Client, error) {
	for _, each := range table() {
		if each.Name == name {
			return each, nil
		}
	}
	return Client{}, fault.New(fault.InvalidParams, "there is no client %q: one of %s", fault.Cut(name, 80), strings.Join(Names(), ", ")).Hinted(fault.HintOf(name, Names()))
}

// BeforeTool is the client's name of the event before a tool.
func (c Client) BeforeTool() string {
	for _, name := range c.Expected() {
		if c.kinds[name] == gate.BeforeTool {
			return name
		}
	}
	return ""
}

// Report is an event as a client reported it.
type Report struct {
	gate.Event
	// Named is the event's name, as the client says it.
	Named string
	// Project is the folder of the project, "" where the client does not say.
	Project string
}

// Read reads a client's event. event names it where its JSON does not: INVALID_PARAMS
// for what is no JSON object.
func (c Client) Read(text []byte, event string) (Report, error) {
	said, err := payloadOf(text)
	if err != nil {
		return Report{Named: event, Event: gate.Event{Client: c.Name, Kind: c.kind(event)}}, err
	}
	named := said.text(c.event)
	if named == "" {
		named = event
	}
	e := gate.Event{Client: c.Name, Session: said.text(c.session), Agent: said.text(c.agent), Kind: c.kind(named),
		Folder: said.text(c.folder), Tool: said.text(c.tool), Input: arguments(said.raw(c.input)), Output: said.raw(c.output), Failed: named == failure}
	if c.amend != nil {
		c.amend(said, &e)
	}
	if e.Kind == gate.Other && asksForTool(named, e) {
		named, e.Kind = c.BeforeTool(), gate.BeforeTool
	}
	if e.Kind == gate.AfterTool && len(e.Output) == 0 {
		e.Output = said.without(c.session, c.event, c.tool, c.input, c.folder, c.project, c.agent)
	}
	if (e.Kind == gate.TurnEnd || e.Kind == gate.TurnMayEnd) && e.Agent != "" {
		e.Kind = gate.Other // a subagent ends, not the session's turn
	}
	project := said.text(c.project)
	if project == "" {
		project = e.Folder
	}
	return Report{Event: e, Named: named, Project: project}, nil
}

// failure is the event after a call that failed, where a client tells it apart.
const failure = "PostToolUseFailure"

// asksForTool reports whether an event of an unknown name precedes a call: it has a
// tool, or no name at all, and no result.
func asksForTool(named string, e gate.Event) bool {
	named = strings.ToLower(named)
	if len(e.Output) > 0 || strings.HasPrefix(named, "post") || strings.HasPrefix(named, "after") {
		return false
	}
	return e.Tool != "" || named == ""
}

func (c Client) kind(named string) gate.Kind {
	if kind, ok := c.kinds[named]; ok {
		return kind
	}
	return gate.Other
}

// Answer says a decision in the client's form.
func (c Client) Answer(named string, d gate.Decision) Answer {
	var said any = map[string]any{}
	switch {
	case d.Verdict == gate.Refuse && c.status != 0:
		return Answer{Stderr: d.Reason + "\n", Exit: c.status}
	case d.Verdict == gate.Refuse:
		said = c.refuse(named, d.Reason)
	case d.Verdict == gate.Hold && c.hold != nil:
		said = c.hold(named, d.Reason)
	case c.silent || c.status != 0:
		return Answer{}
	}
	text, err := jsonvalue.Encode(said)
	if err != nil {
		return Answer{Stderr: d.Reason + "\n", Exit: 2}
	}
	return Answer{Stdout: string(text) + "\n"}
}

// payload is an event's JSON object, by member.
type payload map[string]json.RawMessage

func payloadOf(text []byte) (payload, error) {
	var said payload
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	if err := jsonvalue.UnmarshalStored(text, &said); err != nil || said == nil {
		return nil, fault.New(fault.InvalidParams, "the client's event is not a JSON object")
	}
	return said, nil
}

// raw returns the first member that is there.
func (p payload) raw(paths []string) json.RawMessage {
	for _, path := range paths {
		at := p
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			var below payload
			if json.Unmarshal(at[name], &below) != nil {
				below = nil
			}
			at = below
		}
		if value := at[names[len(names)-1]]; len(value) > 0 && string(value) != "null" {
			return value
		}
	}
	return nil
}

// text returns the first member that is a text, or a list of texts.
func (p payload) text(paths []string) string {
	for _, path := range paths {
		raw := p.raw([]string{path})
		var one string
		if json.Unmarshal(raw, &one) == nil && one != "" {
			return one
		}
		var several []string
		if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
			return several[0]
		}
	}
	return ""
}

// without returns the members that are under none of the paths: where a client reports a
// result in a place that its documentation does not name.
func (p payload) without(paths ...[]string) json.RawMessage {
	rest := maps.Clone(p)
	for _, path := range slices.Concat(paths...) {
		delete(rest, path)
	}
	text, err := jsonvalue.Encode(rest)
	if err != nil {
		return nil
	}
	return text
}

// arguments returns a tool's arguments. Some clients send them as text that holds JSON.
func arguments(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if value, err := jsonvalue.DecodeStored([]byte(text)); err == nil {
		if _, isObject := value.(map[string]any); isObject {
			return json.RawMessage(text)
		}
	}
	return raw
}

// Expected lists the events of a client that its configuration has to report.
func (c Client) Expected() []string {
	var names []string
	for name := range c.kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
