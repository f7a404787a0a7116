package think

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// Position is the state of a run for a runtime that carries out its steps itself.
// Unlike a Reply for a model, nothing in it is shortened.
type Position struct {
	Workflow, RunID string
	Version         int
	Status          flow.Status
	// Outstanding are the instructions that wait for an answer, in declaration
	// order.
	Outstanding []flow.Instruction
	// Failed are the ids of the failed steps, and of the step that blocks the run, if
	// known.
	Failed []string
	// Ran counts the steps that ended done or failed so far.
	Ran int
	// Blocked is why the run cannot go on, or nil.
	Blocked *fault.Error
	// Final is the report of a finished run, or nil; do not change it.
	Final *flow.Final
	// Last is the reply that ended the run, or nil.
	Last *Reply
}

// Position returns the state of a run: UNKNOWN_RUN, STATE_CORRUPT. The workflow may be
// omitted if the run's id is unique, and the run if exactly one is open.
func (e *Engine) Position(ctx context.Context, workflow, run string) (*Position, error) {
	if run == "" {
		all, open, err := e.openRuns(ctx, workflow)
		if err != nil {
			return nil, err
		}
		if len(open) != 1 {
			return nil, e.unnamed(ctx, workflow, nil, all, open)
		}
		workflow, run = open[0].Workflow, open[0].Run
	}
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	at := &Position{Workflow: l.key.Workflow, RunID: l.key.Run, Version: l.now.Version, Status: l.now.Status,
		Outstanding: slices.Clone(l.now.Instructions), Ran: l.now.Ran, Final: l.now.Final}
	if l.now.Blocked != nil {
		at.Blocked, at.Failed = blockedFault(l.now), l.blockedAt()
		return at, nil
	}
	if at.Final == nil {
		return at, nil
	}
	for _, each := range at.Final.Failed {
		at.Failed = append(at.Failed, each.Step)
	}
	at.Last, err = restored(e.currentReply(ctx, l))
	return at, err
}

// blockedAt returns the step of the run's own workflow that blocks it; none where
// something else does.
func (l *live) blockedAt() []string {
	workflow := l.run.View().Graph().Workflow
	for _, each := range l.now.Blocked.Diagnostics {
		for i, step := range workflow.Steps {
			if each.File == workflow.File && strings.HasPrefix(each.Path+".", fmt.Sprintf("steps[%d].", i)) {
				return []string{step.ID}
			}
		}
	}
	return nil
}

// Warning says that the model that answered a step did not see all of its input.
type Warning struct {
	Text string `json:"text"`
	// Seen has the texts of the input that were cut: how many of their first lines the
	// model saw.
	Seen map[string]int `json:"seen,omitempty"`
}

// StepWarnings are the warnings of a step's last answer.
type StepWarnings struct {
	StepID   string
	Warnings []Warning
}

// Remembered returns the warnings of a run's answers that are still in effect, in the
// order of the answers, and what the models of all its answers took: UNKNOWN_RUN,
// STATE_CORRUPT.
func (e *Engine) Remembered(ctx context.Context, workflow, run string) (all []StepWarnings, used []json.RawMessage, err error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, nil, err
	}
	defer l.mu.Unlock()
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	line, err := Effective(records)
	if err != nil {
		return nil, nil, err
	}
	for _, record := range records {
		var data struct {
			Used json.RawMessage `json:"used"`
		}
		if record.Kind == kindResult && decodeData(record, &data) == nil && data.Used != nil {
			used = append(used, data.Used)
		}
	}
	for _, record := range line {
		if record.Kind != kindResult {
			continue
		}
		var data struct {
			Step     string    `json:"step"`
			Warnings []Warning `json:"warnings"`
		}
		if err := decodeData(record, &data); err != nil {
			return nil, nil, err
		}
		all = slices.DeleteFunc(all, func(w StepWarnings) bool { return w.StepID == data.Step })
		if len(data.Warnings) > 0 {
			all = append(all, StepWarnings{data.Step, data.Warnings})
		}
	}
	return all, used, nil
}
