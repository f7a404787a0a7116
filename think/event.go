package think

import (
	"encoding/json"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// Event is one record of a run's history.
type Event struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	Time    string `json:"time"`
	Step    string `json:"step,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Refused is the code that a failed attempt was answered with.
	Refused fault.Code `json:"refused,omitempty"`
	To      int        `json:"to,omitempty"`
	// Witness says who saw the result of a step come about: "self", "gateway"
	// or "person". Receipt is that of the call, where it was the gateway.
	Witness string `json:"witness,omitempty"`
	Receipt string `json:"receipt,omitempty"`
	Hash    string `json:"hash"`
}

// EventOf describes a record.
func EventOf(record state.Record) Event {
	out := Event{Version: record.Version, Kind: record.Kind, Time: record.Time, Hash: record.State}
	var data struct {
		answerData
		To    int `json:"to"`
		Reply struct {
			Fault *fault.Error `json:"fault"`
		} `json:"reply"`
	}
	if json.Unmarshal(record.Data, &data) == nil {
		out.Step, out.Attempt, out.To, out.Witness, out.Receipt = data.Step, data.Attempt, data.To, data.Witness, data.Receipt
		if out.Witness == "" && record.Kind == kindResult {
			out.Witness = flow.WitnessSelf
		}
		if data.Reply.Fault != nil {
			out.Refused = data.Reply.Fault.Code
		}
	}
	return out
}
