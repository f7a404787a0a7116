package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/redact"
	"savant/reasoning"
)

// The kinds of records in a run's journal. A decision is written before its
// calls are made, a call when it has returned.
const (
	recordStarted  = "started"
	recordDecision = "decision"
	recordBegun    = "begun" // write-ahead: a call that must not be repeated
	recordCall     = "call"
	recordFinished = "finished"
	recordGoal     = "goal" // the run was resumed with a new goal
	recordNote     = "note" // what rules have to know of a call on another machine
)

type started struct {
	Options RunOptions `json:"order"`
	Time    string     `json:"time"`
	// Withheld says that secrets were removed from the arguments of the forced tool.
	Withheld bool `json:"withheld,omitempty"`
}

type decision struct {
	Step   int              `json:"step"`
	Intent reasoning.Intent `json:"intent"`
	// Withheld has the numbers of the calls whose arguments lost secrets.
	Withheld []int `json:"withheld,omitempty"`
	// Exchanges are the digests of what models were asked and wrote.
	Exchanges []string `json:"exchanges,omitempty"`
	// Models are the models that were asked, and how often.
	Models []usedModel `json:"models,omitempty"`
	// Spent is the cost of the decision.
	engines.Spent

	time string // when it was written
}

type callRecord struct {
	Step int `json:"step"`
	// Number is the position of the call in its decision, from 0.
	Number int         `json:"number"`
	Call   memory.Call `json:"call"`
	witness
}

// begunRecord says which call is about to be made.
type begunRecord struct {
	Step   int `json:"step"`
	Number int `json:"number"`
}

// appendDecision writes a decision, without the secrets in its arguments.
func (r *Run) appendDecision(t turn) error {
	written := decision{Step: t.index, Intent: t.intent, Spent: t.spent, Exchanges: t.exchanges, Models: t.models}
	var withheld bool
	if written.Intent.Args, withheld = r.runtime.withoutSecrets(t.intent.Args); withheld && len(t.intent.Calls) == 0 {
		written.Withheld = []int{0}
	}
	written.Intent.Calls = slices.Clone(t.intent.Calls)
	for i, each := range t.intent.Calls {
		if written.Intent.Calls[i].Args, withheld = r.runtime.withoutSecrets(each.Args); withheld {
			written.Withheld = append(written.Withheld, i)
		}
	}
	return r.append(recordDecision, written, memory.Durable)
}

// append writes a record of the run. If the store is unreachable it retries until the run
// is interrupted or cancelled, so that a paid decision is not lost.
func (r *Run) append(kind string, data any, durability memory.Durability) error {
	waited := false
	err := r.session.AppendWithin(r.ctx, kind, data, durability, func(err error) {
		waited = true
		r.unsaved(err)
	})
	if waited && err == nil {
		r.unsaved(nil)
	}
	return err
}

// unsaved says that a step could not be saved yet, or with nil that it was.
func (r *Run) unsaved(err error) {
	switch display := r.runtime.options.Display; {
	case display != nil:
		display.Unsaved(r.ID(), err)
	case err != nil:
		r.runtime.options.Logger.Warn("a step could not be saved; trying again", "run", r.ID(), "error", err)
	default:
		r.runtime.options.Logger.Info("the step is saved", "run", r.ID())
	}
}

// withoutSecrets returns arguments without secrets, and whether there were any.
func (r *Runtime) withoutSecrets(args json.RawMessage) (clean json.RawMessage, withheld bool) {
	clean = r.redactor.JSON(args)
	return clean, bytes.Count(clean, []byte(redact.Mark)) > bytes.Count(args, []byte(redact.Mark))
}

// history is what a journal holds.
type history struct {
	started   started
	decisions []decision
	calls     map[int]map[int]memory.Call // by step and number
	begun     map[begunRecord]bool
	ended     *outcome   // the last end, if nothing followed it
	goals     []newGoal  // those after the first
	earlier   []exchange // the goals before the last, with their answers
	turnedAt  int        // how many decisions there were before the last goal
	notes     []json.RawMessage
}

func readHistory(id string, records []memory.Record) (history, error) {
	h := history{calls: map[int]map[int]memory.Call{}, begun: map[begunRecord]bool{}}
	for i, record := range records {
		if err := h.add(record); err != nil {
			return h, memory.Damaged(id, fmt.Errorf("record %d: %w", i+1, err))
		}
	}
	if h.started.Time == "" {
		return h, fault.New(fault.StateCorrupt, "the journal of run %s has no first record: the run never started; give its goal to a new run", id)
	}
	return h, nil
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
	case recordBegun:
		var each begunRecord
		err := json.Unmarshal(record.Data, &each)
		h.begun[each] = true
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
	case recordNote:
		h.notes = append(h.notes, record.Data)
	case recordGoal:
		var next newGoal
		if err := json.Unmarshal(record.Data, &next); err != nil {
			return err
		}
		h.follow(next)
	case recordFinished:
		h.ended = new(outcome)
		err := json.Unmarshal(record.Data, h.ended)
		h.ended.Status = h.ended.Status.current()
		return err
	}
	return nil // a kind of a newer version
}

// turn returns the turn of a decision with the calls made so far.
func (h *history) turn(d decision) turn {
	t := newTurn(d.Step, d.Intent, d.Withheld)
	for number, made := range h.calls[d.Step] {
		if number < len(t.done) {
			t.done[number] = made
		}
	}
	t.asked = slices.DeleteFunc(t.asked, func(a requestedCall) bool {
		_, made := h.calls[d.Step][a.number]
		return made
	})
	for i, each := range t.asked {
		t.asked[i].uncertain = h.begun[begunRecord{d.Step, each.number}]
	}
	return t
}

// notes are what rules noted of the calls of a run before this runtime drove it.
type notes struct {
	mu      sync.Mutex
	earlier []json.RawMessage
}

// Note implements engines.Notes: where another machine may go on with the run, the note is
// kept in its journal, without secrets. What outlives the run keeps nothing.
func (r *Run) Note(note json.RawMessage) error {
	select {
	case <-r.ended:
		return nil
	default:
	}
	if !r.session.Shared() {
		return nil
	}
	return r.append(recordNote, r.runtime.redactor.JSON(note), memory.Durable)
}

// Earlier implements engines.Notes.
func (r *Run) Earlier(take func([]json.RawMessage) error) error {
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	if len(r.notes.earlier) == 0 {
		return nil
	}
	err := take(r.notes.earlier)
	if err == nil {
		r.notes.earlier = nil
	}
	return err
}

// restore rebuilds a run from its journal, and the turn that it resumes at. The caller
// closes the session on error.
func (r *Runtime) restore(session *memory.Session, records []memory.Record, order Order, asking *asking) (*Run, turn, error) {
	h, err := readHistory(session.ID(), records)
	if err != nil {
		return nil, turn{}, err
	}
	again := order.Goal == "" || order.Goal == h.options().Goal
	who := order.Who
	if again && who.By == "" {
		who = h.options().Who
	}
	session.OrderedBy(who.By, who.Claims)
	if !again {
		next, err := r.nextGoal(order.Goal, &h, order.MaxSteps)
		if next.Who = who; err == nil {
			err = session.Append(recordGoal, next, memory.Durable)
		}
		if err != nil {
			return nil, turn{}, err
		}
		h.follow(next)
		order.MaxSteps = 0
	}
	options := h.options()
	options.RunID, options.Approval, options.asking, options.orderers = session.ID(), order.Approval, asking, order.orderers
	for _, run := range order.Within {
		if !slices.Contains(options.Within, run) {
			options.Within = append(slices.Clone(options.Within), run)
		}
	}
	if order.MaxSteps > 0 {
		options.MaxSteps = order.MaxSteps
	}
	options.Who = who
	if err := options.check(); err != nil {
		return nil, turn{}, err
	}
	if h.started.Withheld && len(h.decisions) == 0 {
		return nil, turn{}, fault.New(fault.InvalidParams, "force_args: they held text that looks like a secret, so they were not stored, and the tool was not called yet; start a new run with them")
	}
	began, err := time.Parse(time.RFC3339Nano, h.started.Time)
	if err != nil {
		return nil, turn{}, memory.Damaged(session.ID(), fmt.Errorf("record 1: %w", err))
	}
	run := r.newRun(options, session, began)
	run.unrecorded, run.earlier, run.notes.earlier = &h, h.earlier, h.notes
	run.turned = len(h.goals) > 0 && h.turnedAt == len(h.decisions)
	return run, run.replay(&h), nil
}

// replay applies the decisions of a journal to memory, without calling anything,
// and returns the turn of the last.
func (r *Run) replay(h *history) (t turn) {
	for i, each := range h.decisions {
		if i == h.turnedAt {
			r.recent = recent{}
		}
		t = h.turn(each)
		r.report.add(each.Intent, each.Spent)
		if len(t.asked) > 0 {
			continue
		}
		r.remember(t.step())
		t.outcome = r.outcomeOfForced(t)
		if each.Intent.Action == reasoning.ActionFinish {
			t.outcome = outcome{Status: StatusOK, Final: each.Intent.Final}
		}
	}
	if h.ended != nil && h.ended.Status == StatusOK {
		t.outcome = *h.ended
	}
	if r.turned {
		r.recent, t.outcome = recent{}, outcome{}
	}
	return t
}

// reportOf builds the report of a run from its journal.
func reportOf(id string, records []memory.Record) (Report, error) {
	h, err := readHistory(id, records)
	if err != nil {
		return Report{}, err
	}
	report := Report{RunID: id, Status: StatusInterrupted, Goal: h.options().Goal, Transcript: []memory.Step{}}
	for _, each := range h.decisions {
		report.add(each.Intent, each.Spent)
		if t := h.turn(each); len(t.asked) == 0 {
			report.Steps = each.Step
			report.Transcript = append(report.Transcript, t.step())
		}
	}
	if h.ended != nil {
		report.end(*h.ended)
	}
	report.Transcript = report.transcript(report.Transcript)
	return report, nil
}

// Verified is what a check of a run's journal found.
type Verified struct {
	RunID   string `json:"run_id"`
	Status  Status `json:"status"`
	Records int    `json:"records"`
	// Decisions and Calls are those in the records, Outputs those kept beside the journal.
	Decisions int    `json:"decisions"`
	Calls     int    `json:"calls"`
	Outputs   int    `json:"outputs"`
	Proves    string `json:"proves"`
}

// proves says what a journal without damage proves. A decision of a model cannot be
// replayed, unlike a step of a workflow.
const proves = "no record is damaged, missing or out of order, and each output is the one that was recorded; " +
	"not proved: that nobody wrote the journal anew, since its checksums need no secret, and why a model decided so"

// Verify checks the journal of a run: its checksums and numbers, that its records make a
// run, and that each output has the digest it is kept under. UNKNOWN_RUN, STATE_CORRUPT.
func (r *Runtime) Verify(ctx context.Context, id string) (Verified, error) {
	records, err := r.options.Memory.Records(id)
	if err != nil {
		return Verified{}, err
	}
	h, err := readHistory(id, records)
	if err != nil {
		return Verified{}, err
	}
	report, err := r.Report(id)
	if err != nil {
		return Verified{}, err
	}
	out := Verified{RunID: id, Status: report.Status, Records: len(records), Decisions: len(h.decisions), Proves: proves}
	outputs, err := r.options.Memory.Outputs(ctx, id)
	for _, made := range h.calls {
		out.Calls += len(made)
		for _, each := range made {
			if each.Artifact != "" {
				outputs = append(outputs, path.Base(each.Artifact))
			}
		}
	}
	seen := map[string]bool{}
	for _, digest := range outputs {
		if !seen[digest] && !r.options.Memory.Has(id, digest) {
			return out, memory.Damaged(id, fmt.Errorf("the output %s is missing or was changed", digest))
		}
		seen[digest] = true
	}
	out.Outputs = len(seen)
	return out, err
}
