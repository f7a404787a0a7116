package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"savant/agent/memory"
	"savant/fault"
	"savant/internal/redact"
	"savant/reasoning"
)

// The kinds of records in a run's journal. A decision is written before its
// calls are made, a call when it is completed.
const (
	recordStarted  = "started"
	recordDecision = "decision"
	recordCall     = "call"
	recordFinished = "finished"
)

type started struct {
	Order Order  `json:"order"`
	Time  string `json:"time"`
	// Withheld: the arguments of the forced tool are not all there.
	Withheld bool `json:"withheld,omitempty"`
}

type decision struct {
	Step   int              `json:"step"`
	Intent reasoning.Intent `json:"intent"`
	// Withheld are the numbers of the calls whose arguments are not all there:
	// what is a secret in them is not kept.
	Withheld []int `json:"withheld,omitempty"`

	time string // when it was written
}

type callRecord struct {
	Step int `json:"step"`
	// Number is the place of the call in its decision, from 0.
	Number int         `json:"number"`
	Call   memory.Call `json:"call"`
}

// keepDecision writes a decision, without what is a secret in its arguments.
func (r *Run) keepDecision() error {
	kept := decision{Step: r.index, Intent: r.intent}
	var lacks bool
	if kept.Intent.Args, lacks = r.runtime.withheld(r.intent.Args); lacks && len(r.intent.Calls) == 0 {
		kept.Withheld = []int{0}
	}
	kept.Intent.Calls = slices.Clone(r.intent.Calls)
	for i, asked := range r.intent.Calls {
		if kept.Intent.Calls[i].Args, lacks = r.runtime.withheld(asked.Args); lacks {
			kept.Withheld = append(kept.Withheld, i)
		}
	}
	return r.session.Append(recordDecision, kept, memory.Durable)
}

// withheld returns arguments without what is a secret in them, and whether
// there was any.
func (r *Runtime) withheld(args json.RawMessage) (kept json.RawMessage, lacks bool) {
	kept = r.redactor.JSON(args)
	return kept, bytes.Count(kept, []byte(redact.Mark)) > bytes.Count(args, []byte(redact.Mark))
}

// history is what a journal tells.
type history struct {
	started   started
	decisions []decision
	calls     map[int]map[int]memory.Call // by step and number
	ended     *outcome                    // of the last time it ended, if nothing followed
}

func readHistory(id string, records []memory.Record) (history, error) {
	told := history{calls: map[int]map[int]memory.Call{}}
	for i, record := range records {
		if err := told.add(record); err != nil {
			return told, memory.Damaged(id, fmt.Errorf("record %d: %w", i+1, err))
		}
	}
	if told.started.Time == "" {
		return told, fault.New(fault.StateCorrupt, "the journal of run %s has no beginning: the run never began; give its goal to a new run", id)
	}
	return told, nil
}

func (h *history) add(record memory.Record) error {
	switch record.Kind {
	case recordStarted:
		return json.Unmarshal(record.Data, &h.started)
	case recordDecision:
		each := decision{time: record.Time}
		h.ended = nil
		err := json.Unmarshal(record.Data, &each)
		h.decisions = append(h.decisions, each)
		return err
	case recordCall:
		var each callRecord
		h.ended = nil
		if err := json.Unmarshal(record.Data, &each); err != nil {
			return err
		}
		if h.calls[each.Step] == nil {
			h.calls[each.Step] = map[int]memory.Call{}
		}
		h.calls[each.Step][each.Number] = each.Call
	case recordFinished:
		h.ended = new(outcome)
		return json.Unmarshal(record.Data, h.ended)
	}
	return nil // a kind of a newer version
}

// step returns the step that a decision made, and which of its calls are
// still to be made.
func (h *history) step(each decision) (calls []memory.Call, pending []bool, whole bool) {
	asked := each.Intent.AllCalls()
	calls, pending, whole = make([]memory.Call, len(asked)), make([]bool, len(asked)), true
	for i := range asked {
		made, completed := h.calls[each.Step][i]
		calls[i], pending[i] = made, !completed
		whole = whole && completed
	}
	return calls, pending, whole
}

// restore makes a run of its journal. The caller closes the session on error.
func (r *Runtime) restore(session *memory.Session, records []memory.Record, maxSteps int) (*Run, error) {
	told, err := readHistory(session.ID(), records)
	if err != nil {
		return nil, err
	}
	order := told.started.Order
	order.RunID = session.ID()
	if maxSteps > 0 {
		order.MaxSteps = maxSteps
	}
	if err := order.check(); err != nil {
		return nil, err
	}
	if told.started.Withheld && len(told.decisions) == 0 {
		return nil, fault.New(fault.InvalidParams, "force_args: they held what looks like a secret, which is not kept, and were not used yet; give the order to a new run")
	}
	began, err := time.Parse(time.RFC3339Nano, told.started.Time)
	if err != nil {
		return nil, memory.Damaged(session.ID(), fmt.Errorf("record 1: %w", err))
	}
	run := r.newRun(order, session, began)
	for _, each := range told.decisions {
		run.replay(&told, each)
	}
	if told.ended != nil && told.ended.Status == StatusOK {
		run.outcome = *told.ended
	}
	run.untold = &told
	return run, nil
}

// replay does again, in memory alone, what a decision did.
func (r *Run) replay(told *history, each decision) {
	r.begin(each.Step)
	r.intent, r.withheld = each.Intent, each.Withheld
	r.report.Model = each.Intent.Model
	r.report.PromptTokens += each.Intent.PromptTokens
	r.report.OutputTokens += each.Intent.OutputTokens
	calls, pending, whole := told.step(each)
	r.calls, r.pending = calls, pending
	if !whole {
		return
	}
	r.step = r.stepOf(each.Step, each.Intent, calls)
	r.remember(r.step)
	r.afterForced()
	if each.Intent.Action == reasoning.ActionFinish {
		r.outcome = outcome{Status: StatusOK, Final: each.Intent.Final}
	}
}

// reportOf is the report of a run that does not go on here.
func reportOf(id string, records []memory.Record) (Report, error) {
	told, err := readHistory(id, records)
	if err != nil {
		return Report{}, err
	}
	report := Report{RunID: id, Status: StatusInterrupted, Goal: told.started.Order.Goal, Transcript: []memory.Step{}}
	replayed := &Run{}
	for _, each := range told.decisions {
		report.Model = each.Intent.Model
		report.PromptTokens += each.Intent.PromptTokens
		report.OutputTokens += each.Intent.OutputTokens
		calls, _, whole := told.step(each)
		if whole {
			report.Steps = each.Step
			report.Transcript = append(report.Transcript, replayed.stepOf(each.Step, each.Intent, calls))
		}
	}
	if ended := told.ended; ended != nil {
		report.Status, report.Final, report.Warning, report.Error = ended.Status, ended.Final, ended.Warning, ended.Error
	}
	return report, nil
}
