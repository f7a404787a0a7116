package think

import (
	"context"
	"encoding/json"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/state"
)

// Event is one record of a run's history.
type Event struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	Time    string `json:"time"`
	Step    string `json:"step,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Refused is the error code of a failed attempt.
	Refused fault.Code `json:"refused,omitempty"`
	To      int        `json:"to,omitempty"`
	// Witness is the witness of a step's result: "self", "gateway" or "person". For the
	// gateway, Receipt is the receipt of the call.
	Witness string `json:"witness,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	// By says who made the record: a token's name, ByLocal, ByTerminal, ByHub, ByHook, or
	// the person who cancelled the run; Claims is what that client calls itself.
	By     string `json:"by,omitempty"`
	Claims string `json:"by_claims,omitempty"`
	// Reason says why the run was cancelled.
	Reason string `json:"reason,omitempty"`
	// Tool is the tool of a call that an approval covered, and Approval the version of that
	// approval.
	Tool     string `json:"tool,omitempty"`
	Approval int    `json:"approval,omitempty"`
	// Refusal is the call that the gate refused.
	Refusal *gate.Refusal `json:"refusal,omitempty"`
	// Claimed says that the record was imported, so its witness or approval was not
	// verified here.
	Claimed bool   `json:"claimed,omitempty"`
	Hash    string `json:"hash"`
}

// EventOf describes a record.
func EventOf(record state.Record) Event {
	out := Event{Version: record.Version, Kind: record.Kind, Time: record.Time, Hash: jsonvalue.SHA256(record.State)}
	var data struct {
		answerData
		Reason   string `json:"reason"`
		To       int    `json:"to"`
		Tool     string `json:"tool"`
		Approval int    `json:"approval"`
		Reply    struct {
			Fault *fault.Error `json:"fault"`
		} `json:"reply"`
	}
	if json.Unmarshal(record.Data, &data) == nil {
		out.Step, out.Attempt, out.To, out.Witness, out.Receipt = data.Step, data.Attempt, data.To, data.Witness, data.Receipt
		out.By, out.Claims, out.Reason, out.Refusal = data.By, data.Claims, data.Reason, refusalOf(record)
		if record.Kind == KindUsed || record.Kind == KindRevoked {
			out.Tool, out.Approval = data.Tool, data.Approval
		}
		if out.Refusal != nil {
			out.By = ByHook
		}
		if out.Witness == "" && record.Kind == kindResult {
			out.Witness = flow.WitnessSelf
		}
		if data.Reply.Fault != nil {
			out.Refused = data.Reply.Fault.Code
		}
	}
	return out
}

// Events describes the records of a run, and returns the version up to which they were
// imported, or 0.
func (e *Engine) Events(ctx context.Context, key state.Key, records []state.Record) (events []Event, imported int, err error) {
	if imported, err = e.imported(ctx, key); err != nil {
		return nil, 0, err
	}
	events = []Event{}
	for _, record := range records {
		event := EventOf(record)
		event.Claimed = event.claims(imported)
		events = append(events, event)
	}
	return events, imported, nil
}

// claims reports whether an event has an unverified witness or approval, in a run whose
// records up to a version were imported.
func (e Event) claims(imported int) bool {
	return e.Version <= imported && (e.Kind == kindPerson || e.Kind == KindCancelled || e.Witness != "" && e.Witness != flow.WitnessSelf)
}

func (e *Engine) imported(ctx context.Context, key state.Key) (int, error) {
	if e.Imports == nil {
		return 0, nil
	}
	return e.Imports.Imported(ctx, key)
}

// Answered is one answer of a run, as it came.
type Answered struct {
	Step   string
	Result any
	// Time is that of its record.
	Time string
}

// Answers returns the parameters of a run and the answers that count, in their order:
// those before a reset to an earlier version do not. The errors are those of Replay.
func (e *Engine) Answers(ctx context.Context, key state.Key) (params map[string]any, answers []Answered, err error) {
	records, err := e.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	plan, err := planOf(records)
	if err != nil {
		return nil, nil, err
	}
	line, err := Effective(records)
	if err != nil {
		return nil, nil, err
	}
	for _, record := range line {
		if record.Kind != kindResult && record.Kind != kindPerson {
			continue
		}
		given, err := e.recorded(ctx, record, nil)
		if err != nil {
			return nil, nil, err
		}
		answers = append(answers, Answered{given.step, given.Result, record.Time})
	}
	return plan.Params, answers, nil
}
