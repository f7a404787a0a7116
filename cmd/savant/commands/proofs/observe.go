package proofs

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"savant/internal/jsonvalue"
	"savant/proof"
	"savant/rules/sessions"
	"savant/think/gate"
	"savant/think/state"
)

// hooks are what hooks of clients saw in a folder. It implements proof.Observer.
type hooks struct{ root *os.Root }

// Observed implements proof.Observer: a call answers a step if it is the one that the step
// asked for, and was made between the instruction and the answer.
func (h hooks) Observed(_ context.Context, _ state.Key, records []state.Record) (found []proof.Observation, err error) {
	seen, err := sessions.HookCalls(h.root)
	if err != nil || len(seen) == 0 {
		return nil, err
	}
	issued := map[string]gate.Issued{}
	began := map[string]int64{}
	for _, record := range records {
		var data struct {
			Step  string `json:"step"`
			Reply struct {
				Reply struct {
					Instruction  *gate.Issued  `json:"instruction"`
					Instructions []gate.Issued `json:"instructions"`
				} `json:"reply"`
			} `json:"reply"`
		}
		at, err := time.Parse(time.RFC3339Nano, record.Time)
		if err != nil || json.Unmarshal(record.Data, &data) != nil {
			continue
		}
		if asked, ok := issued[data.Step]; ok && record.Kind == "result" {
			for _, each := range seen {
				if each.Tool == asked.Call && each.Input == inputOf(asked) && each.Began >= began[data.Step] && each.Ended <= at.UnixMilli() {
					found = append(found, proof.Observation{Version: record.Version, Client: each.Client, Tool: each.Tool, Outcome: each.Outcome})
					break
				}
			}
		}
		next := data.Reply.Reply.Instructions
		if data.Reply.Reply.Instruction != nil {
			next = append(next, *data.Reply.Reply.Instruction)
		}
		for _, each := range next {
			issued[each.Step], began[each.Step] = each, at.UnixMilli()
		}
	}
	return found, nil
}

// inputOf is the digest of an instruction's arguments.
func inputOf(asked gate.Issued) string {
	value, err := jsonvalue.DecodeStored(asked.Input)
	if err != nil {
		return ""
	}
	digest, _ := jsonvalue.Digest(value) // what was decoded has one
	return digest
}
