package sessions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/think/gate"
)

// Recorded is a call of a recorded session.
type Recorded struct {
	// Line is where the call stands in the recording, and Ended where its end does, 0
	// without one.
	Line, Ended int
	Tool        string
	Input       map[string]any
	Result      any
	Outcome     rules.Outcome
	Session     string
	Time        int64
	// Refused: it was not made.
	Refused bool
	// Receipt has the result where the recording does not.
	Receipt string
}

// ReadRecording reads the calls of a recorded session: of Claude Code, or of Savant's trace.
func ReadRecording(source []byte) ([]Recorded, error) {
	read, torn := recording{open: map[string]int{}}, error(nil)
	for line := range bytes.Lines(source) {
		read.line++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if torn != nil { // only the last line may be half written
			return nil, torn
		}
		if err := read.take(line); err != nil {
			torn = fault.New(fault.InvalidParams, "line %d of the recording cannot be read: %w", read.line, err)
		}
	}
	if len(read.calls) == 0 {
		return nil, cmp.Or(torn, error(fault.New(fault.InvalidParams, "the recording has no calls: expected a session of Claude Code, or a trace of Savant")))
	}
	return read.calls, nil
}

// message is a line of a session of Claude Code.
type message struct {
	Session   string `json:"sessionId"`
	Timestamp string `json:"timestamp"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Result json.RawMessage `json:"toolUseResult"`
}

// block is a part of a message.
type block struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   map[string]any  `json:"input"`
	Of      string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// traced is a line of the trace.
type traced struct {
	Type      string         `json:"type"`
	Timestamp string         `json:"timestamp"`
	Session   string         `json:"session_id"`
	Run       string         `json:"run_id"`
	Tool      string         `json:"tool_name"`
	Call      string         `json:"call_id"`
	Args      map[string]any `json:"args"`
	Output    string         `json:"output"`
	Status    string         `json:"status"`
	Metadata  struct {
		Receipt string `json:"receipt"`
	} `json:"metadata"`
}

// recording is what was read of a recording.
type recording struct {
	line  int
	calls []Recorded
	open  map[string]int // by the recording's name of the call
}

// take reads a line by its type.
func (r *recording) take(line []byte) error {
	var form struct {
		Type string `json:"type"`
	}
	if err := jsonvalue.UnmarshalStored(line, &form); err != nil {
		return err
	}
	switch {
	case form.Type == "assistant" || form.Type == "user":
		return takeAs(line, r.blocks)
	case form.Type == "tool_call_started" || form.Type == "tool_call_completed":
		return takeAs(line, r.traced)
	}
	return nil
}

func takeAs[T any](line []byte, take func(T)) error {
	var found T
	err := jsonvalue.UnmarshalStored(line, &found)
	if err == nil {
		take(found)
	}
	return err
}

func (r *recording) begin(name string, made Recorded) {
	made.Line = r.line
	r.open[name] = len(r.calls)
	r.calls = append(r.calls, made)
}

func (r *recording) end(name string, outcome rules.Outcome, result any, receipt string) {
	at, known := r.open[name]
	if !known {
		return
	}
	delete(r.open, name)
	made := &r.calls[at]
	made.Ended, made.Outcome, made.Receipt = r.line, outcome, receipt
	if outcome == rules.Succeeded {
		made.Result = result
	}
}

func (r *recording) blocks(found message) {
	var blocks []block
	if jsonvalue.UnmarshalStored(found.Message.Content, &blocks) != nil { // a text alone
		return
	}
	for _, each := range blocks {
		switch each.Type {
		case "tool_use":
			r.begin(each.ID, Recorded{Tool: each.Name, Input: each.Input, Session: found.Session, Time: milliseconds(found.Timestamp)})
		case "tool_result":
			output := each.Content
			if len(found.Result) > 0 && len(blocks) == 1 { // as its hooks report it
				output = found.Result
			}
			result, outcome := Reported(gate.Event{Output: output, Failed: each.IsError})
			r.end(each.Of, outcome, result, "")
		}
	}
}

func (r *recording) traced(found traced) {
	session := cmp.Or(found.Run, found.Session)
	name := session + " " + found.Call
	if _, begun := r.open[name]; !begun {
		r.begin(name, Recorded{Tool: found.Tool, Input: found.Args, Session: session, Time: milliseconds(found.Timestamp)})
	}
	if found.Type != "tool_call_completed" {
		return
	}
	var result any
	if found.Output != "" {
		result = jsonvalue.TextOrValue(found.Output)
	}
	r.end(name, rules.OutcomeOf(found.Status == "ok" || found.Status == "cached"), result, found.Metadata.Receipt)
}

// CallsUnder returns the calls that rules of a run judged, WORKFLOW/RUN, in their order.
func (k *Keeper) CallsUnder(run string) ([]Recorded, error) {
	all, err := readAll(k.options.Root)
	found := recording{open: map[string]int{}}
	for _, each := range all {
		switch {
		case each.Kind == kindEnd:
			found.end(each.Call, each.Outcome, each.Result, each.Receipt)
		case (each.Kind == kindCall || each.Kind == kindRefused) && ruledBy(each.Runs, run):
			found.begin(each.Call, Recorded{Tool: each.Tool, Input: each.Input, Time: each.Time, Refused: each.Kind == kindRefused})
		}
	}
	return found.calls, err
}

// milliseconds reads a time of a recording, 0 if it is none.
func milliseconds(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

// Tried is a call that rules would have refused, or asked a person about.
type Tried struct {
	Recorded
	Verdict rules.Verdict
}

// Try judges the calls of a recording. A call that is refused is not made then; one about
// which a person is asked is.
func Try(set *rules.Set, calls []Recorded) []Tried {
	var found []Tried
	history, open := rules.NewHistory(set), []pending{}
	for _, each := range calls {
		open = slices.DeleteFunc(open, func(p pending) bool {
			ended := p.Ended != 0 && p.Ended < each.Line
			if ended {
				history.Settle(p.made, p.Outcome, p.Result, p.Receipt)
			}
			return ended
		})
		each.Tool, _ = toolOf(set, each.Tool)
		call := rules.Call{Tool: each.Tool, Input: each.Input, Session: each.Session, Time: each.Time, Witness: "gateway"}
		verdict := rules.Decide(set, history, call)
		if len(verdict.Findings) > 0 {
			found = append(found, Tried{each, verdict})
		}
		if verdict.Decision == rules.Refuse {
			history.Refuse(call)
			continue
		}
		open = append(open, pending{each, history.Reserve(call)})
	}
	return found
}

// pending is a call of a recording that has not ended where the recording is read.
type pending struct {
	Recorded
	made *rules.Made
}
