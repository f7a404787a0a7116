// Package gate decides what a client may do while a run that it planned is open: only
// the issued call passes, and the model's turn does not end while the run can continue.
// It is pure: it decides from the run's records and the event of a client's hook, and
// does no I/O.
package gate

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// Kind is the kind of a hook's event.
type Kind string

// The kinds of events. A client has more; those are Other, and nothing is decided.
// TurnMayEnd asks as TurnEnd does, but the end is not counted: it may not come.
const (
	BeforeTool Kind = "before_tool"
	AfterTool  Kind = "after_tool"
	TurnEnd    Kind = "turn_end"
	TurnMayEnd Kind = "turn_may_end"
	Other      Kind = "other"
)

// Event is the event of a client's hook, in one form for all clients.
type Event struct {
	// Client is the client's name in the table of clients, Session its own id of
	// the conversation. Agent is set inside a subagent, which is gated with its session.
	Client, Session, Agent string
	Kind                   Kind
	// Project is the folder of the project, and Folder the one that relative paths are
	// of; "" where the client does not say.
	Project, Folder string
	// Tool is the client's name of the tool, Input its arguments, Output its result after
	// the call.
	Tool          string
	Input, Output json.RawMessage
	// Failed: the client says by the event that the call failed.
	Failed bool
	// Paths are the paths in the arguments of a reading tool, absolute and with links
	// resolved. The caller of Decide fills them in.
	Paths []string
}

// The outcomes of a call, as its client reports them.
const (
	Succeeded = "succeeded"
	Broke     = "failed"
	Unknown   = "unknown"
)

// Outcome returns how a call ended, by the event after it. One that was interrupted, or goes on in
// the background, has no known end.
func (e Event) Outcome() string {
	value, _ := jsonvalue.DecodeStored(e.Output) // what is no JSON says nothing
	result, _ := value.(map[string]any)
	goesOn := result["is_interrupt"] == true || result["interrupted"] == true || result["backgroundTaskId"] != nil
	for name, value := range jsonvalue.Members(e.Input) {
		goesOn = goesOn || string(value) == "true" && strings.HasSuffix(strings.ToLower(name), "background")
	}
	switch failed := e.Failed || failed(result); {
	case goesOn && (e.Failed || !failed):
		return Unknown
	case failed:
		return Broke
	}
	return Succeeded
}

// failed reports whether a client's result says that the call failed.
func failed(result map[string]any) bool {
	for _, name := range []string{"resultType", "result_type"} {
		if kind, is := result[name].(string); is && kind != "success" {
			return true
		}
	}
	parts, _ := result["output"].([]any)
	cause, said := result["error"].(string)
	_, described := result["error"].(map[string]any)
	return described || said && cause != "" || result["isError"] == true || result["is_error"] == true || result["success"] == false ||
		slices.ContainsFunc(parts, func(part any) bool { each, _ := part.(map[string]any); return each["success"] == false })
}

// Verdict is the decision on an event.
type Verdict string

// The verdicts: Pass lets the event happen, Refuse stops a tool, and Hold keeps the
// model's turn from ending.
const (
	Pass   Verdict = ""
	Refuse Verdict = "refuse"
	Hold   Verdict = "hold"
)

// Decision is a verdict with its message for the model.
type Decision struct {
	Verdict Verdict
	Reason  string
	// Why is the cause in one word, see the constants. Workflow, Run and Step name the
	// instruction that the call violated; they are empty if the gate failed.
	Why                 string
	Workflow, Run, Step string
}

// The causes of a refusal.
const (
	NotIssued    = "not_issued"    // another tool than the issued one
	OtherInput   = "other_input"   // the issued tool with another input
	NotAllowed   = "not_allowed"   // the model answers, and the step does not allow the tool
	PersonAsked  = "person_asked"  // a person has to answer
	RunDiscarded = "run_discarded" // think.reset that would take the open run away
	GateFailed   = "gate_failed"   // the gate could not decide
)

// Run is where an open run of the session stands, as its records say.
type Run struct {
	Workflow string `json:"workflow"`
	ID       string `json:"run"`
	// Status is the status of the last record.
	Status string `json:"status"`
	// Issued are the instructions that wait for an answer.
	Issued []Issued `json:"issued,omitempty"`
	// Ruled says that the run has rules about the session's calls.
	Ruled bool `json:"ruled,omitempty"`
	// Progress is the version of the last record that is no refusal.
	Progress int `json:"progress"`
}

// Issued is one instruction that waits.
type Issued struct {
	Step  string          `json:"step_id"`
	Call  string          `json:"call"`
	Input json.RawMessage `json:"input,omitempty"`
	// Allow lists what the model may call while it answers the step; nil is the default.
	Allow *[]string `json:"allow,omitempty"`
	// Outcome is "unknown" where the call may have had an effect: it is not to be repeated
	// before somebody has found out.
	Outcome string `json:"outcome,omitempty"`
}

// The statuses in which a run is open: it can go on, or waits for a person.
const (
	statusRunning = "running"
	statusWaiting = "waiting"
)

// Open reports whether the run is gated.
func (r Run) Open() bool { return r.Status == statusRunning || r.Status == statusWaiting }

// Waits reports whether only a person can take the run on.
func (r Run) Waits() bool { return r.Status == statusWaiting }

// The calls that no tool carries out.
const (
	callGenerate = "llm.generate"
	callApprove  = "human.approve"
	callAsk      = "human.ask"
)

func (i Issued) person() bool { return i.Call == callApprove || i.Call == callAsk }
