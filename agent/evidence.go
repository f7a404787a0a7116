package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/redact"
	"savant/reasoning"
)

// witness is how a call of the agent is known, beside its result.
type witness struct {
	// Receipt is the id of the call's receipt, Digest that of the result as the tool gave it.
	Receipt string `json:"receipt,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Allowed says who allowed a destructive call: a person in a form or at a terminal, a
	// pattern that a person wrote before, or the order of the run itself.
	Allowed string `json:"allowed,omitempty"`
}

// Who allowed a destructive call.
const (
	allowedByPerson  = "person"
	allowedByPattern = "pattern"
	allowedByOrder   = "order"
)

// witnessOf returns how a call is known that was made, or failed.
func (r *Run) witnessOf(a requestedCall, tool engines.Tool, result engines.Result, err error) (seen witness) {
	if result.Receipt == "" {
		return seen
	}
	raw := result.JSON
	if err != nil {
		raw = jsonvalue.Encoded(fault.From(err))
	}
	value, failed := jsonvalue.Decode(raw)
	if failed != nil {
		return seen
	}
	seen.Receipt = result.Receipt
	seen.Digest, _ = jsonvalue.Digest(value) // what was decoded has one
	if tool.Destructive && !tool.ReadOnly {
		switch {
		case r.orderOf(a).destructive:
			seen.Allowed = allowedByOrder
		case matches(r.guard.unasked, tool.Name):
			seen.Allowed = allowedByPattern
		default:
			seen.Allowed = allowedByPerson
		}
	}
	return seen
}

// Evidence is a record of a run as a proof has it. Its data has the members that a proof
// reads of a workflow's records: step, call, status, by, witness, receipt, digest, used,
// result, params, reply.
type Evidence struct {
	// Status is how the run stands if nothing follows.
	Kind, Time, Status string
	Data               json.RawMessage
}

// evidence is the data of a record of a proof.
type evidence struct {
	Step   string `json:"step,omitempty"`
	Call   string `json:"call,omitempty"`
	Status string `json:"status,omitempty"`
	By     string `json:"by,omitempty"`
	witnessed
	Used   *usedTokens     `json:"used,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Reply  any             `json:"reply,omitempty"`
}

type witnessed struct {
	Witness string `json:"witness,omitempty"`
	witness
}

type usedTokens struct {
	Models []usedModel `json:"models"`
}

type usedModel struct {
	Model        string `json:"model"`
	Calls        int    `json:"calls"`
	PromptTokens int    `json:"prompt_tokens,omitempty"`
	OutputTokens int    `json:"output_tokens,omitempty"`
	Remote       bool   `json:"remote,omitempty"`
}

// modelsOf sums up the calls of models behind a decision. An answer from the store counts no call.
func (r *Run) modelsOf(calls []reasoning.ModelCall) (found []usedModel) {
	for _, each := range calls {
		if each.Cached {
			continue
		}
		name := r.runtime.redactor.Text(each.Model)
		at := slices.IndexFunc(found, func(model usedModel) bool { return model.Model == name && model.Remote == each.Remote })
		if at < 0 {
			at, found = len(found), append(found, usedModel{Model: name, Remote: each.Remote})
		}
		found[at].Calls++
		found[at].PromptTokens += each.PromptTokens
		found[at].OutputTokens += each.OutputTokens
	}
	return found
}

// Evidence returns the records of a run for a proof, after it verified the journal:
// UNKNOWN_RUN, STATE_CORRUPT.
func (r *Runtime) Evidence(ctx context.Context, id string) (found []Evidence, err error) {
	if _, err := r.Verify(ctx, id); err != nil {
		return nil, err
	}
	records, err := r.options.Memory.Records(id)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if record.Kind == recordNote { // of calls that have records of their own
			continue
		}
		kind, data, err := evidenceOf(record)
		if err != nil {
			return nil, memory.Damaged(id, err)
		}
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, fault.New(fault.Internal, "a record of run %s: %w", id, err)
		}
		status := string(StatusInterrupted)
		if kind == recordFinished {
			status = data.Status
		}
		found = append(found, Evidence{kind, record.Time, status, raw})
	}
	return found, nil
}

// evidenceOf returns what a proof has of a record. Decisions of a model and calls that were
// made answer a step; what was ordered, and what rules refused, does not.
func evidenceOf(record memory.Record) (kind string, data evidence, err error) {
	switch record.Kind {
	case recordDecision:
		var each decision
		err := json.Unmarshal(record.Data, &each)
		data = evidence{Step: strconv.Itoa(each.Step), Status: string(each.Intent.Action), Result: record.Data}
		if each.Intent.Model == forcedBy {
			return "ordered", data, err
		}
		intent := each.Intent
		if len(each.Models) == 0 {
			each.Models = []usedModel{{intent.Model, 1, intent.PromptTokens, intent.OutputTokens, intent.Model != reasoning.OfflinePlanner}}
		}
		data.By, data.Used = "agent", &usedTokens{each.Models}
		return "result", data, err
	case recordCall:
		var each callRecord
		if err := json.Unmarshal(record.Data, &each); err != nil {
			return "", data, err
		}
		return evidenceOfCall(each, record.Data)
	case recordFinished:
		var each outcome
		err := json.Unmarshal(record.Data, &each)
		reply := map[string]any{"reply": map[string]any{"outputs": map[string]any{"final": each.Final}}}
		return recordFinished, evidence{Status: string(each.Status.current()), Result: record.Data, Reply: reply}, err
	}
	return record.Kind, evidence{Params: record.Data}, nil
}

func evidenceOfCall(each callRecord, raw json.RawMessage) (string, evidence, error) {
	call := each.Call
	data := evidence{Step: fmt.Sprintf("%d-%d", each.Step, each.Number+1), Call: call.Tool, Status: "done", By: "agent", Result: raw}
	if call.Rule != "" || call.Error != nil && call.Error.Code == fault.RuleRefused {
		data.Reason = cmp.Or(call.Rule, string(fault.RuleRefused))
		return "refused", data, nil
	}
	if call.Error != nil {
		data.Status = "failed"
	}
	if each.Receipt != "" {
		data.witnessed = witnessed{"gateway", each.witness}
	}
	if each.Digest != "" && call.Error == nil && !call.Cut && !bytes.Contains(call.Output, []byte(redact.Mark)) {
		value, err := jsonvalue.Decode(call.Output)
		digest := ""
		if err == nil {
			digest, err = jsonvalue.Digest(value)
		}
		if err != nil || digest != each.Digest {
			return "", data, fault.New(fault.StateCorrupt, "the result of the call %s does not have the digest that its receipt names", data.Step)
		}
	}
	return "result", data, nil
}
