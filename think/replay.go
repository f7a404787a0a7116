package think

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/state"
)

// refresh brings a held run up to its journal.
func (e *Engine) refresh(ctx context.Context, l *live) error {
	if l.run != nil {
		version, hash, err := e.Store.Head(ctx, l.key)
		if err != nil {
			l.forget()
			return err
		}
		if l.version == version && l.hash == hash {
			return nil
		}
		if followed, err := e.follow(ctx, l, version); followed || err != nil {
			return err
		}
	}
	l.forget()
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	if err != nil {
		return err
	}
	replayed, err := e.replay(ctx, l.key, records, 0)
	if err != nil {
		return err
	}
	l.takeOver(replayed, records)
	return nil
}

// follow applies to a cached run the new records of other processes, up to a version.
// followed is false if they do not continue the cached state, as after a reset: then the
// run must be replayed from all its records.
func (e *Engine) follow(ctx context.Context, l *live, version int) (followed bool, err error) {
	if version <= l.version {
		return false, nil
	}
	records, err := e.Store.Records(ctx, l.key, l.version, 0)
	if err != nil {
		l.forget()
		return false, err
	}
	if len(records) == 0 || records[0].Prev != l.hash || slices.ContainsFunc(records, isReset) {
		return false, nil
	}
	line := slices.DeleteFunc(slices.Clone(records), isAside)
	now, err := e.applyRecords(ctx, l.history(), l.run, l.now, line)
	last := records[len(records)-1]
	if err != nil || now.Hash != last.State {
		return false, nil // the full replay reports damaged records
	}
	l.run.SkipTo(last.Version)
	now.Version = last.Version
	for _, record := range line {
		if at, err := time.Parse(time.RFC3339Nano, record.Time); err == nil {
			l.times[record.Version] = at
		}
	}
	l.refused, l.usages = l.refused+refusalsIn(records), usagesIn(records, l.usages)
	l.update(now, last)
	return true, nil
}

func isReset(record state.Record) bool { return record.Kind == KindReset }

// refusalsIn counts the calls that the gate refused.
func refusalsIn(records []state.Record) (count int) {
	for _, record := range records {
		if refusal := refusalOf(record); refusal != nil {
			count += refusal.Count()
		}
	}
	return count
}

// refusalOf reads what the gate refused, nil for a record of another kind.
func refusalOf(record state.Record) *gate.Refusal {
	refusal := new(gate.Refusal)
	if record.Kind != KindRefused || decodeData(record, refusal) != nil {
		return nil
	}
	return refusal
}

// takeOver makes a replayed run the run in memory.
func (l *live) takeOver(replayed *replayed, records []state.Record) {
	last := records[len(records)-1]
	l.run, l.pins, l.times = replayed.run, replayed.plan.Pins, issueTimes(records, replayed.now)
	l.commands, l.refused, l.usages = replayed.plan.Commands, refusalsIn(records), usagesIn(records, nil)
	l.update(replayed.now, last)
}

// history is where the recorded answers of a run are read from: the records in
// hand, which begin with the first, else the store.
type history struct {
	key     state.Key
	records []state.Record
}

func (l *live) history() history { return history{key: l.key} }

// record returns the record of a version.
func (e *Engine) record(ctx context.Context, p history, version int) (state.Record, error) {
	if version <= len(p.records) {
		return p.records[version-1], nil
	}
	records, err := e.Store.Records(ctx, p.key, version-1, 1)
	if err == nil && len(records) == 0 {
		err = fault.New(fault.StateCorrupt, "run %s: record %d is missing", p.key, version)
	}
	if err != nil {
		return state.Record{}, err
	}
	return records[0], nil
}

// provide gives the core recorded answers whose captures are not in memory.
func (e *Engine) provide(ctx context.Context, p history, run *flow.Run, refs []flow.Ref) error {
	for _, ref := range refs {
		record, err := e.record(ctx, p, ref.Version)
		if err != nil {
			return err
		}
		var data answerData
		if err := decodeData(record, &data); err != nil {
			return err
		}
		result, err := e.resultOf(ctx, data)
		if err != nil {
			return err
		}
		if err := run.Provide(ref, result); err != nil {
			return err
		}
	}
	return nil
}

// proceed continues an event, providing captures until none is missing.
func (e *Engine) proceed(ctx context.Context, p history, run *flow.Run, out flow.Outcome) (flow.Outcome, error) {
	for len(out.Missing) > 0 {
		if err := e.provide(ctx, p, run, out.Missing); err != nil {
			return out, err
		}
		out = run.Proceed()
	}
	return out, nil
}

// query asks the core again until nothing is missing for the answer.
func query[T any](ctx context.Context, e *Engine, p history, run *flow.Run, question func() (T, []flow.Ref)) (T, error) {
	for {
		answer, refs := question()
		if len(refs) == 0 {
			return answer, nil
		}
		if err := e.provide(ctx, p, run, refs); err != nil {
			return answer, err
		}
	}
}

// snapshot returns the whole state of a run, captures of more than longest bytes
// as flow.Long.
func (e *Engine) snapshot(ctx context.Context, p history, run *flow.Run, longest int) (flow.Snapshot, error) {
	return query(ctx, e, p, run, func() (flow.Snapshot, []flow.Ref) { return run.View().Snapshot(longest) })
}

// capture returns the JSON of a capture, or nil.
func (e *Engine) capture(ctx context.Context, p history, run *flow.Run, name string) (json.RawMessage, error) {
	return query(ctx, e, p, run, func() (json.RawMessage, []flow.Ref) { return run.View().Var(name) })
}

// explain explains the status of a run's step.
func (e *Engine) explain(ctx context.Context, p history, run *flow.Run, step flow.Handle) (*flow.Explanation, error) {
	return query(ctx, e, p, run, func() (*flow.Explanation, []flow.Ref) { return run.View().Explain(step) })
}

// replayed is a run that was replayed from its records.
type replayed struct {
	run  *flow.Run
	now  flow.Outcome
	plan planData
}

// planOf reads the plan that records begin with.
func planOf(records []state.Record) (plan planData, err error) {
	if len(records) == 0 || records[0].Kind != kindPlan {
		return plan, fault.New(fault.StateCorrupt, "record 1 is not a plan")
	}
	return plan, decodeData(records[0], &plan)
}

// replay implements Replay.
func (e *Engine) replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (*replayed, error) {
	if upTo <= 0 || upTo > len(records) {
		upTo = len(records)
	}
	out, err := e.replayRecords(ctx, history{key, records[:upTo]})
	if err != nil {
		return nil, ofRun(key, err)
	}
	return out, nil
}

// ofRun names the run that is damaged, where what was found names a record alone.
func ofRun(key state.Key, err error) error {
	failure := fault.From(err)
	if failure.Code != fault.StateCorrupt || strings.Contains(failure.Details, key.String()) {
		return err
	}
	named := *failure
	named.Details = "run " + key.String() + ": " + failure.Details
	return &named
}

func (e *Engine) replayRecords(ctx context.Context, p history) (*replayed, error) {
	plan, err := planOf(p.records)
	if err != nil {
		return nil, err
	}
	graph, err := e.pinned(ctx, plan)
	if err != nil {
		return nil, err
	}
	line, err := Effective(p.records)
	if err != nil {
		return nil, err
	}
	run, now := graph.Start(p.key.Run, plan.Params, plan.Terms)
	if now, err = e.applyRecords(ctx, p, run, now, line[1:]); err != nil {
		return nil, err
	}
	last := p.records[len(p.records)-1]
	if last.Kind == KindReset || isAside(last) {
		run.SkipTo(last.Version)
		if now, err = e.proceed(ctx, p, run, run.Proceed()); err != nil {
			return nil, err
		}
		now.Change = flow.Change{}
	}
	if now.Hash != last.State {
		return nil, fault.New(fault.StateCorrupt, "run %s: record %d does not follow from the records before it (state %.12s, recorded %.12s)", p.key, last.Version, now.Hash, last.State)
	}
	return &replayed{run, now, plan}, nil
}

// applyRecords applies records that follow each other to a run that stands at now.
func (e *Engine) applyRecords(ctx context.Context, p history, run *flow.Run, now flow.Outcome, line []state.Record) (flow.Outcome, error) {
	for i, record := range decodeAhead[answerData](line) {
		err := record.err
		if i == len(line)-1 {
			now, err = e.apply(ctx, p, run, record.Record, nil)
		} else if err == nil {
			err = e.resume(ctx, p, run, record.Record, record.data)
		}
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// decoded is a record with its data, or why that cannot be read.
type decoded[T any] struct {
	state.Record
	data T
	err  error
}

// aheadBatch is how many records are decoded before they are handed over.
const aheadBatch = 256

// decodeAhead decodes the data of records in their order while the first of them are
// applied, so that opening a long run takes less time.
func decodeAhead[T any](records []state.Record) iter.Seq2[int, decoded[T]] {
	return func(yield func(int, decoded[T]) bool) {
		ahead, stop := make(chan []decoded[T], 2), make(chan struct{})
		defer close(stop)
		go func() {
			for batch := range slices.Chunk(records, aheadBatch) {
				found := make([]decoded[T], len(batch))
				for i, record := range batch {
					found[i].Record = record
					found[i].err = decodeData(record, &found[i].data)
				}
				select {
				case ahead <- found:
				case <-stop:
					return
				}
			}
		}()
		for i := 0; i < len(records); {
			for _, each := range <-ahead {
				if !yield(i, each) {
					return
				}
				i++
			}
		}
	}
}

// issueTimes returns when the outstanding steps were issued, by version. A reset issues
// them anew, even if the clock was set back meanwhile.
func issueTimes(records []state.Record, now flow.Outcome) map[int]time.Time {
	reset := 0
	for _, record := range records {
		if record.Kind == KindReset {
			reset = record.Version
		}
	}
	times := map[int]time.Time{}
	for _, next := range now.Instructions {
		if at, err := time.Parse(time.RFC3339Nano, records[max(next.Version, reset)-1].Time); err == nil {
			times[next.Version] = at
		}
	}
	return times
}

// Effective returns the records that make the state after the last one: a reset
// replaces all records after the version it names. Records that change no state are
// omitted. STATE_CORRUPT.
func Effective(records []state.Record) ([]state.Record, error) {
	line := make([]state.Record, 0, len(records))
	for at := len(records); at > 0; {
		record := records[at-1]
		if record.Kind != KindReset {
			if !isAside(record) {
				line = append(line, record)
			}
			at--
			continue
		}
		var data resetData
		if err := decodeData(record, &data); err != nil {
			return nil, err
		}
		if data.To < 1 || data.To >= record.Version {
			return nil, fault.New(fault.StateCorrupt, "record %d resets to version %d", record.Version, data.To)
		}
		at = data.To
	}
	slices.Reverse(line)
	return line, nil
}

// apply applies a record as it was applied at first: checks, templates and all. data is what
// was decoded of it, or nil.
func (e *Engine) apply(ctx context.Context, p history, run *flow.Run, record state.Record, data *answerData) (flow.Outcome, error) {
	out, refused, err := e.give(ctx, p, run, record, data)
	if refused != nil {
		return out, doesNotFollow(record, refused)
	}
	return out, err
}

// give gives a recorded answer to a run, which may refuse it. The result is decoded for
// each call, because the run takes ownership of it.
func (e *Engine) give(ctx context.Context, p history, run *flow.Run, record state.Record, data *answerData) (out flow.Outcome, refused, err error) {
	if _, err := e.proceed(ctx, p, run, run.Proceed()); err != nil { // renders the instructions after resume
		return out, nil, err
	}
	if record.Kind == KindCancelled {
		out, refused = cancelAgain(run, record)
		return out, refused, nil
	}
	given, err := e.recorded(ctx, record, data)
	if err != nil {
		return out, nil, err
	}
	run.SkipTo(record.Version - 1)
	step, refused := run.View().RecordedStep(given.step)
	if refused != nil {
		return out, refused, nil
	}
	if out, refused = run.Settle(step, given.Answer); refused != nil {
		return out, refused, nil
	}
	out, err = e.proceed(ctx, p, run, out)
	return out, nil, err
}

func doesNotFollow(record state.Record, err error) error {
	return fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: %s", record.Version, fault.From(err).Message())
}

// resume applies a record that later records confirm: a step that it settled as done is
// neither checked nor rendered.
func (e *Engine) resume(ctx context.Context, p history, run *flow.Run, record state.Record, data answerData) error {
	if data.Value == "" {
		_, err := e.apply(ctx, p, run, record, &data)
		return err
	}
	if data.Value == sameDigest {
		data.Value = data.Digest
	}
	run.SkipTo(record.Version - 1)
	step, err := run.View().RecordedStep(data.Step)
	if err != nil {
		return doesNotFollow(record, err)
	}
	refs, err := run.Resume(step, flow.Recorded{Digest: data.Digest, Value: data.Value, Size: data.Size,
		Witness: data.witness(), Late: data.Late, Result: data.Result})
	if err != nil {
		return doesNotFollow(record, err)
	}
	if len(refs) > 0 {
		_, err = e.proceed(ctx, p, run, flow.Outcome{Missing: refs})
	}
	return err
}

// recorded reads an answer back from its record, as it was handed in.
func (e *Engine) recorded(ctx context.Context, record state.Record, data *answerData) (given submission, err error) {
	if data == nil {
		data = &answerData{}
		if err := decodeData(record, data); err != nil {
			return given, err
		}
	}
	return e.submitted(ctx, record, *data)
}

// submitted reads back the answer that the data of its record has.
func (e *Engine) submitted(ctx context.Context, record state.Record, data answerData) (given submission, err error) {
	raw, err := e.resultOf(ctx, data)
	if err != nil {
		return given, err
	}
	value, err := jsonvalue.DecodeStored(raw)
	if err != nil {
		return given, fault.New(fault.StateCorrupt, "record %d holds a result that is not JSON", record.Version)
	}
	return submission{step: data.Step, by: data.attribution, raw: raw, carried: data.Receipt, warnings: data.Warnings, Answer: flow.Answer{Attempt: data.Attempt, Result: value,
		Digest: data.Digest, Person: data.Person, Shown: data.Shown, By: personOf(data.By), Witness: data.Witness, Late: data.Late}}, nil
}

// resultOf returns the result of an answer as it came.
func (e *Engine) resultOf(ctx context.Context, data answerData) (json.RawMessage, error) {
	if data.ResultRef != "" {
		return e.Store.Artifact(ctx, data.ResultRef)
	}
	return data.Result, nil
}
