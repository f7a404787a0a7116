package sessions

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/rules"
	"savant/think/gate"
)

// Recorded is a call of a recorded session.
type Recorded struct {
	Line    int // where the call stands in the recording
	Tool    string
	Input   map[string]any
	Result  any
	Outcome rules.Outcome
	Session string
	Time    int64
	// Refused: it was not made.
	Refused bool
	// ofClient: the client made it, and not Savant, so that its hooks are the witness.
	ofClient bool
}

// Tried is a call that rules would have refused, or asked a person about.
type Tried struct {
	Recorded
	Verdict rules.Verdict
}

// trial judges the calls of a recording as they are read: neither lines nor results are kept
// that no rule looks at.
type trial struct {
	set     *rules.Set
	receipt func(id string) any // the result that a receipt has, or nil
	history *rules.History
	open    map[string]*rules.Made // by the recording's name of the call, nil if it was not noted
	ended   map[string]bool        // the calls of messages that are written again
	session string                 // of Codex
	line    int
	calls   int
	found   []Tried
}

// maxRecorded bounds a line of a recording, in bytes.
const maxRecorded = 64 << 20

// Try judges the calls of a recorded session, of Claude Code, Codex, Gemini CLI or Savant's trace. A call
// that is refused is not made then; one about which a person is asked is. receipt returns
// the result that a receipt has, or nil. calls counts all calls.
func Try(set *rules.Set, source io.Reader, receipt func(id string) any) (found []Tried, calls int, err error) {
	t := &trial{set: set, receipt: receipt, history: rules.NewHistory(set), open: map[string]*rules.Made{}, ended: map[string]bool{}}
	none := error(fault.New(fault.InvalidParams, "the recording has no calls that rules know: expected a session of Claude Code, Codex or Gemini CLI, or a trace of Savant; "+
		"recordings of other clients lack calls or results that their hooks report"))
	var torn error
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, maxRecorded)
	for lines.Scan() {
		t.line++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if torn != nil && t.calls == 0 { // not lines at all
			return nil, 0, none
		}
		if torn != nil { // only the last line may be half written
			return nil, 0, torn
		}
		if err := t.take(lines.Bytes()); err != nil {
			torn = fault.New(fault.InvalidParams, "line %d of the recording cannot be read: %w", t.line, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, 0, fault.New(fault.LimitExceeded, "line %d of the recording has more than %d bytes", t.line+1, maxRecorded)
	case err != nil:
		return nil, 0, fault.New(fault.InvalidParams, "the recording cannot be read: %w", fault.WithoutPath(err))
	case t.calls == 0:
		return nil, 0, cmp.Or(torn, none)
	}
	return t.found, t.calls, nil
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

// turn is a message of a session of Gemini CLI with the calls that ended. It is written again when
// it grows.
type turn struct {
	Calls []struct {
		ID        string         `json:"id"`
		Name      string         `json:"name"`
		Args      map[string]any `json:"args"`
		Status    string         `json:"status"`
		Timestamp string         `json:"timestamp"`
		Result    []struct {
			Function struct {
				Response struct {
					Output json.RawMessage `json:"output"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"result"`
	} `json:"toolCalls"`
}

// item is a line of a session of Codex: a call, what one gave, or which session it is.
type item struct {
	Timestamp string `json:"timestamp"`
	Payload   struct {
		Session   string         `json:"id"`
		Type      string         `json:"type"`
		ID        string         `json:"call_id"`
		Namespace string         `json:"namespace"`
		Name      string         `json:"name"`
		Arguments any            `json:"arguments"` // as a text
		Input     string         `json:"input"`     // of a tool that takes a text
		Action    map[string]any `json:"action"`
		Output    any            `json:"output"`
	} `json:"payload"`
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

// take reads a line by its type.
func (t *trial) take(line []byte) error {
	var form struct {
		Type string `json:"type"`
	}
	if err := jsonvalue.UnmarshalStored(line, &form); err != nil {
		return err
	}
	switch {
	case form.Type == "assistant" || form.Type == "user":
		return takeAs(line, t.blocks)
	case form.Type == "session_meta" || form.Type == "response_item":
		return takeAs(line, t.item)
	case form.Type == "gemini":
		return takeAs(line, t.turn)
	case form.Type == "tool_call_started" || form.Type == "tool_call_completed":
		return takeAs(line, t.traced)
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

// begin judges a call and, unless it is refused, notes it.
func (t *trial) begin(name string, made Recorded) {
	made.Line = t.line
	t.calls++
	t.open[name] = nil
	tool, ours := ToolOf(t.set, made.Tool)
	if made.Tool = tool; !t.set.Reads(tool) {
		return
	}
	rules.Plain(made.Input)
	call := rules.Call{Tool: tool, Input: made.Input, Session: made.Session, Time: made.Time, Witness: "gateway"}
	if made.ofClient && !ours {
		call.Witness = "hook"
	}
	verdict := rules.Decide(t.set, t.history, call)
	if len(verdict.Findings) > 0 {
		t.found = append(t.found, Tried{made, verdict})
	}
	if verdict.Decision == rules.Refuse {
		t.history.Refuse(call)
		return
	}
	t.open[name] = t.history.Reserve(call)
}

func (t *trial) end(name string, outcome rules.Outcome, result any, receipt string) {
	made := t.open[name]
	delete(t.open, name)
	if made == nil {
		return
	}
	if outcome != rules.Succeeded {
		result = nil
	}
	if result == nil && receipt != "" {
		result = t.receipt(receipt)
	}
	t.history.Settle(made, outcome, result, receipt)
}

func (t *trial) blocks(found message) {
	var blocks []block
	if jsonvalue.UnmarshalStored(found.Message.Content, &blocks) != nil { // a text alone
		return
	}
	for _, each := range blocks {
		switch each.Type {
		case "tool_use":
			t.begin(each.ID, Recorded{Tool: each.Name, Input: each.Input, Session: found.Session, Time: milliseconds(found.Timestamp), ofClient: true})
		case "tool_result":
			output := each.Content
			if len(found.Result) > 0 && len(blocks) == 1 { // as its hooks report it
				output = found.Result
			}
			result, outcome := Reported(gate.Event{Output: output, Failed: each.IsError})
			t.end(each.Of, outcome, result, "")
		}
	}
}

func (t *trial) turn(found turn) {
	for _, each := range found.Calls {
		outcome, known := map[string]rules.Outcome{"success": rules.Succeeded, "error": rules.Failed, "cancelled": rules.Unknown}[each.Status]
		if !known || t.ended[each.ID] {
			continue
		}
		t.ended[each.ID] = true
		t.begin(each.ID, Recorded{Tool: each.Name, Input: each.Args, Time: milliseconds(each.Timestamp), ofClient: true})
		var result any
		if len(each.Result) > 0 {
			result, _ = Reported(gate.Event{Output: each.Result[0].Function.Response.Output})
		}
		t.end(each.ID, outcome, result, "")
	}
}

// beforeOutput matches what Codex writes before what a command printed.
var beforeOutput = pattern.Lazy(`^(?:[A-Z][^\n]*\n){0,8}?Output:\n`)

// item takes a line of Codex as its hooks report the call: a command of any of its shells is Bash,
// and a patch is a command, too. That a call failed is in what it printed.
func (t *trial) item(found item) {
	of := found.Payload
	switch {
	case of.Type == "function_call" || of.Type == "custom_tool_call" || of.Type == "local_shell_call":
		if t.ended[of.ID] { // a session that goes on repeats the one before
			return
		}
		input, name := of.Action, of.Name
		if text, is := of.Arguments.(string); is {
			of.Arguments = jsonvalue.TextOrValue(text)
		}
		if arguments, is := of.Arguments.(map[string]any); is {
			input = arguments
		}
		command := cmp.Or(of.Input, commandOf(cmp.Or(input["command"], input["cmd"])))
		if of.Namespace != "" {
			name = strings.TrimSuffix(of.Namespace, "__") + "__" + name
		} else if command != "" && !strings.Contains(name, "__") {
			input = map[string]any{"command": command}
			if of.Input == "" {
				name = "Bash"
			}
		}
		t.begin(of.ID, Recorded{Tool: name, Input: input, Session: t.session, Time: milliseconds(found.Timestamp), ofClient: true})
	case strings.HasSuffix(of.Type, "_call_output"):
		t.ended[of.ID] = true
		failed := false
		if text, is := of.Output.(string); is {
			of.Output = jsonvalue.TextOrValue(beforeOutput().ReplaceAllString(text, ""))
		}
		if object, is := of.Output.(map[string]any); is {
			failed, of.Output = object["success"] == false, cmp.Or(object["output"], object["content"], of.Output)
		}
		result, outcome := Reported(gate.Event{Output: jsonvalue.Encoded(of.Output), Failed: failed})
		t.end(of.ID, outcome, result, "")
	default:
		t.session = cmp.Or(of.Session, t.session)
	}
}

// commandOf returns the script that a shell is started with.
func commandOf(command any) string {
	words := jsonvalue.Texts(command)
	if len(words) == 3 && strings.HasPrefix(words[1], "-") {
		words = words[2:]
	}
	return strings.Join(words, " ")
}

func (t *trial) traced(found traced) {
	session := cmp.Or(found.Run, found.Session)
	name := session + " " + found.Call
	if _, begun := t.open[name]; !begun {
		t.begin(name, Recorded{Tool: found.Tool, Input: found.Args, Session: session, Time: milliseconds(found.Timestamp)})
	}
	if found.Type != "tool_call_completed" {
		return
	}
	var result any
	if found.Output != "" {
		result = jsonvalue.TextOrValue(found.Output)
	}
	t.end(name, rules.OutcomeOf(found.Status == "ok" || found.Status == "cached"), result, found.Metadata.Receipt)
}

// CallsUnder returns the calls that rules of a run judged, WORKFLOW/RUN, in their order.
func (k *Keeper) CallsUnder(run string) ([]Recorded, error) {
	all, err := readAll(k.options.Root)
	var calls []Recorded
	open := map[string]int{}
	for _, each := range all {
		at, begun := open[each.Call]
		switch {
		case each.Kind == kindEnd && begun:
			if calls[at].Outcome = each.Outcome; each.Outcome == rules.Succeeded {
				calls[at].Result = each.Result
			}
			delete(open, each.Call)
		case (each.Kind == kindCall || each.Kind == kindRefused) && ruledBy(each.Runs, run):
			open[each.Call] = len(calls)
			calls = append(calls, Recorded{Tool: each.Tool, Input: each.Input, Time: each.Time, Refused: each.Kind == kindRefused})
		}
	}
	return calls, err
}

// milliseconds reads a time of a recording, 0 if it is none.
func milliseconds(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}
