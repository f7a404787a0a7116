package rules

import (
	"savant/internal/jsonvalue"
)

// Call is a call of a tool that is about to be made.
type Call struct {
	Tool  string
	Input map[string]any
	// Session is whose call it is: rules without scope or within see one session.
	Session string
	// Time is in milliseconds since 1970.
	Time int64
	// Witness says who saw the call.
	Witness string
	// Runs are the runs that go on whose workflows have rules about the call.
	Runs []Run
}

// Run is a run, or a part of one, that follows a workflow with rules.
type Run struct {
	// Digest is that of the workflow's file.
	Digest string `json:"digest"`
	// ID names the run and the part: WORKFLOW/RUN, or WORKFLOW/RUN/fix_0/.
	ID string `json:"run"`
	// Params and State have what the rules read, null for what is not there.
	Params map[string]any `json:"params,omitempty"`
	State  map[string]any `json:"state,omitempty"`
}

// Outcome is how a call ended, as far as that is known.
type Outcome string

const (
	// Unknown counts where it can only restrict: for at_most, once and none(calls…).
	Unknown   Outcome = "unknown"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
)

// OutcomeOf returns the outcome of a call of which is known whether it succeeded.
func OutcomeOf(ok bool) Outcome {
	if ok {
		return Succeeded
	}
	return Failed
}

// Made is a call in a History.
type Made struct {
	Call
	// At is its ordinal in its session, from 1.
	At int
	// ID is that of its receipt.
	ID string

	outcome Outcome
	running bool
	item    map[string]any // as expressions see it
	uses    []use          // what it uses up of what rules let pass
}

// use is a place in a ledger, and what is used up there.
type use struct {
	ledger *ledger
	key    string
}

// History is the calls so far. Decide only reads it; the methods that add to it need
// the caller's lock.
type History struct {
	set      *Set
	sessions map[string]*ledger
	project  *ledger // all calls, if a rule reaches over sessions
	refused  map[string]int
}

// NewHistory returns a history without calls.
func NewHistory(set *Set) *History {
	h := &History{set: set, sessions: map[string]*ledger{}, refused: map[string]int{}}
	if set.reach > 0 {
		h.project = newLedger()
	}
	return h
}

// session returns the calls of a session, empty ones for a session without any.
func (h *History) session(name string) *ledger {
	if known := h.sessions[name]; known != nil {
		return known
	}
	return newLedger()
}

// Reserve adds a call before it is made. Until it is settled its outcome is unknown.
func (h *History) Reserve(call Call) *Made {
	own := h.session(call.Session)
	h.sessions[call.Session] = own
	if len(h.refused) > 0 { // a digest costs as much as the rest
		delete(h.refused, digest(call))
	}
	made := &Made{Call: call, At: own.count + 1, outcome: Unknown, running: true}
	made.item = map[string]any{"input": call.Input, "result": nil, "at": made.At, "id": "", "witness": call.Witness}
	made.uses = h.uses(call, own) // computed before the call is part of the history
	for _, each := range h.ledgers(own) {
		each.add(made)
	}
	for _, each := range made.uses {
		each.ledger.use(each.key, made)
	}
	return made
}

func (h *History) ledgers(own *ledger) []*ledger {
	if h.project == nil {
		return []*ledger{own}
	}
	return []*ledger{own, h.project}
}

// Settle says how a call ended; only an unknown outcome can be settled again. A result that the
// success of a file refuses is that of a failed call; one that it cannot judge is
// unknown. id is the call's receipt.
func (h *History) Settle(made *Made, outcome Outcome, result any, id string) Outcome {
	if outcome == Succeeded {
		outcome = h.set.outcome(made.Call, result)
	}
	made.item = map[string]any{"input": made.Input, "result": result, "at": made.At, "id": id, "witness": made.Witness}
	made.ID, made.outcome, made.running = id, outcome, false
	indexes := h.set.indexesOf(made.Tool)
	for _, each := range h.ledgers(h.sessions[made.Session]) {
		each.settle(made, indexes)
	}
	if outcome == Failed {
		for _, each := range made.uses {
			each.ledger.giveBack(each.key, made)
		}
	}
	return outcome
}

// Same reports whether the call has the tool and the input of another one.
func (m *Made) Same(other Call) bool {
	return m.Tool == other.Tool && encoded(m.Input) == encoded(other.Input)
}

// Refuse notes that a call was refused, so that its third refusal says to stop.
func (h *History) Refuse(call Call) { h.refused[digest(call)]++ }

func digest(call Call) string {
	return call.Session + "\x00" + call.Tool + "\x00" + encoded(call.Input)
}

// Plain takes the sign off each zero of a value that was decoded from JSON, in its place: the
// tool that gets -0 takes it for 0, and a text of the arguments must not tell them apart.
func Plain(value any) any {
	switch v := value.(type) {
	case float64:
		return v + 0
	case []any:
		for i, each := range v {
			v[i] = Plain(each)
		}
	case map[string]any:
		for name, each := range v {
			v[name] = Plain(each)
		}
	}
	return value
}

// encoded returns the text by which values are compared: equal for 1 and 1.0, and for 0 and -0.
func encoded(value any) string {
	if value == 0.0 {
		value = 0
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return "?"
	}
	return string(data)
}
