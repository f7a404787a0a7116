package gate

import (
	"encoding/json"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// The kinds of records that matter here. A refusal changes nothing of its run.
const (
	KindRefused = "refused"
	kindReset   = "reset"
)

// Record is the part of a run's record that the gate reads.
type Record struct {
	Version int
	Kind    string
	Status  string
	Data    json.RawMessage
}

// Refusal is the data of a record of kind KindRefused.
type Refusal struct {
	Client  string `json:"client"`
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Tool is the tool as the client names it, Input the digest of its arguments.
	Tool  string `json:"tool"`
	Input string `json:"input"`
	Step  string `json:"step,omitempty"`
	Why   string `json:"why"`
	// Times is the number of refusals in the record, if more than one.
	Times int `json:"times,omitempty"`
}

// Count returns the number of refusals in the record.
func (r Refusal) Count() int { return max(1, r.Times) }

// recorded is the part of a record's data about instructions.
type recorded struct {
	To    int `json:"to"`
	Reply struct {
		Reply struct {
			Instruction  *Issued  `json:"instruction"`
			Instructions []Issued `json:"instructions"`
			Outstanding  []string `json:"outstanding"`
		} `json:"reply"`
	} `json:"reply"`
}

// RunOf returns the state of a run after its records, all of them from the first:
// STATE_CORRUPT.
func RunOf(workflow, id string, records []Record) (Run, error) {
	run := Run{Workflow: workflow, ID: id}
	line, err := effective(records)
	if err != nil {
		return run, err
	}
	for _, record := range line {
		if err := run.apply(record); err != nil {
			return run, err
		}
	}
	for _, record := range slices.Backward(records) { // a reset has its own version and status
		if record.Kind != KindRefused {
			run.Progress, run.Status = record.Version, record.Status
			break
		}
	}
	return run, nil
}

// Follow applies the records after those that the run was made from. ok is false
// where one of them is a reset: then Standing has to read them all.
func (r Run) Follow(records []Record) (after Run, ok bool, err error) {
	if slices.ContainsFunc(records, func(record Record) bool { return record.Kind == kindReset }) {
		return r, false, nil
	}
	for _, record := range records {
		if err := r.apply(record); err != nil {
			return r, true, err
		}
	}
	return r, true, nil
}

// effective returns the records that make the state after the last one: a reset takes
// the place of all that came after the version it names, and a refusal changes nothing.
func effective(records []Record) (line []Record, err error) {
	for at := len(records); at > 0; {
		record := records[at-1]
		at--
		switch record.Kind {
		case KindRefused:
		case kindReset:
			var data recorded
			if jsonvalue.UnmarshalStored(record.Data, &data) != nil || data.To < 1 || data.To >= record.Version {
				return nil, unreadable(record)
			}
			at = data.To
		default:
			line = append(line, record)
		}
	}
	slices.Reverse(line)
	return line, nil
}

// apply applies one record: the instructions it issued become outstanding.
func (r *Run) apply(record Record) error {
	if record.Kind == KindRefused {
		return nil
	}
	var data recorded
	if err := jsonvalue.UnmarshalStored(record.Data, &data); err != nil {
		return unreadable(record)
	}
	reply := data.Reply.Reply
	var now []Issued
	for _, before := range r.Issued {
		if slices.Contains(reply.Outstanding, before.Step) {
			now = append(now, before)
		}
	}
	if reply.Instruction != nil {
		now = append(now, *reply.Instruction)
	}
	r.Issued = append(now, reply.Instructions...)
	r.Progress, r.Status = record.Version, record.Status
	return nil
}

func unreadable(record Record) error {
	return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
}
