package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/statetest"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
	"savant/think/state"
)

// Whatever read or write of the store fails, each call is refused or gives the
// reply that it gives without a fault; then the run goes on as if nothing had
// been, in this engine and in another, and has all that it captured. A write may
// fail before it is done, and after: then the store has what it refused. Outside CI
// the run goes on after every third fault.
func TestNoFaultOfTheStoreIsTakenForAnAnswer(t *testing.T) {
	t.Parallel()
	for name, each := range faultyCalls() {
		for _, reopened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s reopened %t", name, reopened), func(t *testing.T) {
				t.Parallel()
				want, calls := each.without(t, reopened)
				require.NotEmpty(t, calls, "the call does not reach the store")
				for at, called := range calls {
					each.with(t, reopened, storeFault{at: at + 1}, want)
					if called.writes && !reopened {
						each.with(t, reopened, storeFault{at: at + 1, done: true}, want)
					}
				}
			})
		}
	}
}

// faultyCall is a call of a tool after so many answers of faultySteps.
type faultyCall struct {
	after int
	call  func(context.Context, *think.Engine) (any, error)
	// again is a code that the call may answer after one that was refused; and
	// partly says that it may answer something else then, since a part of it was
	// done. twice says so where the whole of it was.
	again         fault.Code
	partly, twice bool
}

// without returns the reply to the call, and its calls of the store.
func (c faultyCall) without(t *testing.T, reopened bool) (string, []storeCall) {
	f := newFaulty(t, c.after, reopened)
	f.store.counts = true
	reply, err := c.call(t.Context(), f.engine)
	require.NoError(t, err)
	return encode(t, reply), f.store.calls
}

// with makes the call while one call of the store fails.
func (c faultyCall) with(t *testing.T, reopened bool, fails storeFault, want string) {
	f := newFaulty(t, c.after, reopened)
	f.store.counts, f.store.fails = true, fails
	reply, err := c.call(t.Context(), f.engine)
	f.store.counts = false
	if err == nil {
		require.Equal(t, want, encode(t, reply), "with the fault %+v", fails)
	} else {
		require.Contains(t, []fault.Code{fault.Internal, fault.StateNotSaved}, fault.From(err).Code, "%v", err)
		reply, err := c.call(t.Context(), f.engine)
		if c.again != "" && err != nil {
			require.Equal(t, c.again, fault.From(err).Code, "%v", err)
		} else {
			require.NoError(t, err, "after the fault %+v", fails)
			if !c.partly && !(c.twice && fails.done) {
				require.Equal(t, want, encode(t, reply), "after the fault %+v", fails)
			}
		}
	}
	if fails.at%3 == 1 || os.Getenv("CI") != "" {
		f.finish(t)
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	data, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return string(data)
}

const faultyWorkflow = `name: faulty
version: "1.0"
params: {n: {type: array, default: [1, 2]}}
steps:
  - {id: long, call: llm.generate, input_template: {task: x}, capture_as: long}
  - {id: part, call: llm.generate, input_template: {task: y}, extract: result.part, capture_as: part}
  - {id: each, call: llm.generate, foreach: params.n, input_template: {task: "{{ item }}"}, capture_as: all}
  - {id: ok, call: human.approve, input_template: {message: "{{ len(state.long) }} and {{ state.part }}?"}, capture_as: ok, deps: [each]}
  - {id: seen, call: tool.read, input_template: {path: p}, witness: required, deps: [ok], capture_as: seen}
  - {id: last, call: llm.generate, input_template: {task: "{{ state.long }}", context: "{{ state.all }}"}, deps: [seen]}
outputs: {long: "{{ state.long }}", part: "{{ state.part }}", all: "{{ state.all }}", seen: "{{ state.seen }}"}
artifacts: [{name: all, from: state.all}]
`

// faultyLong is a result that is too long to stay in memory.
func faultyLong(name string) string { return `"` + name + strings.Repeat(" long", 2000) + `"` }

// faultySteps answer the run, in turn.
var faultySteps = []func(context.Context, *think.Engine) (any, error){
	func(ctx context.Context, e *think.Engine) (any, error) { return planFaulty(ctx, e, "r") },
	nextFaulty("long", faultyLong("a")),
	nextFaulty("part", `{"part":"b","rest":`+faultyLong("r")+`}`),
	nextFaulty("each_0", faultyLong("c")),
	nextFaulty("each_1", `{"short":true}`),
	approveFaulty,
	func(ctx context.Context, e *think.Engine) (any, error) {
		return e.Next(ctx, think.NextInput{RunID: "r", StepID: "seen", ResultRef: "seenaaaa"})
	},
	nextFaulty("last", `"end"`),
}

func planFaulty(ctx context.Context, e *think.Engine, run string) (any, error) {
	return e.Plan(ctx, think.PlanInput{Workflow: "faulty", RunID: run})
}

func nextFaulty(step, result string) func(context.Context, *think.Engine) (any, error) {
	return func(ctx context.Context, e *think.Engine) (any, error) {
		return e.Next(ctx, think.NextInput{RunID: "r", StepID: step, ResultSnapshot: json.RawMessage(result)})
	}
}

func approveFaulty(ctx context.Context, e *think.Engine) (any, error) {
	waiting, err := e.Pending(ctx, "faulty", "r")
	digest := ""
	if len(waiting) > 0 {
		digest = waiting[0].Digest
	}
	if err != nil {
		return nil, err
	}
	return e.Approve(ctx, think.Pending{Workflow: "faulty", RunID: "r", StepID: "ok", Digest: digest}, map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
}

// faultyCalls are the tools of Think where they have most to read.
func faultyCalls() map[string]faultyCall {
	debug := func(in audit.DebugInput) func(context.Context, *think.Engine) (any, error) {
		return func(ctx context.Context, e *think.Engine) (any, error) {
			asked := in
			asked.RunID = "r"
			return audit.New(e).Debug(ctx, asked)
		}
	}
	reset := func(in think.ResetInput) func(context.Context, *think.Engine) (any, error) {
		return func(ctx context.Context, e *think.Engine) (any, error) {
			asked := in
			asked.RunID = "r"
			return e.Reset(ctx, asked)
		}
	}
	get := func(in think.StateGetInput) func(context.Context, *think.Engine) (any, error) {
		return func(ctx context.Context, e *think.Engine) (any, error) {
			asked := in
			asked.RunID = "r"
			return e.StateGet(ctx, asked)
		}
	}
	calls := map[string]faultyCall{
		"plan":       {after: 1, call: func(ctx context.Context, e *think.Engine) (any, error) { return planFaulty(ctx, e, "new") }},
		"plan again": {after: 4, call: faultySteps[0]},
		"next without a result": {after: 5, call: func(ctx context.Context, e *think.Engine) (any, error) {
			return e.Next(ctx, think.NextInput{RunID: "r", StepID: "ok"})
		}},
		"next that asks a person": {after: 4, partly: true, call: func(ctx context.Context, e *think.Engine) (any, error) {
			willing := func(context.Context, think.Form) (think.Filled, error) {
				return think.Filled{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, nil
			}
			return e.Next(ctx, think.NextInput{RunID: "r", StepID: "each_1", ResultSnapshot: json.RawMessage(`{"short":true}`), Caller: think.Caller{Ask: willing}})
		}},
		"save":          {after: 5, call: reset(think.ResetInput{Save: "here"})},
		"reset":         {after: 7, again: fault.CheckpointNotFound, call: reset(think.ResetInput{Checkpoint: "seen"})},
		"reset the end": {after: 8, twice: true, call: reset(think.ResetInput{Checkpoint: "v6", Force: true})},
		"reset all":     {after: 6, again: fault.UnknownRun, call: reset(think.ResetInput{Force: true})},
		"explain": {after: 5, call: func(ctx context.Context, e *think.Engine) (any, error) {
			return e.Explain(ctx, think.ExplainInput{RunID: "r", StepID: "ok"})
		}},
		"state.get":      {after: 6, call: get(think.StateGetInput{})},
		"state.get long": {after: 6, call: get(think.StateGetInput{Var: "long"})},
		"state.get all":  {after: 6, call: get(think.StateGetInput{Var: "all"})},
		"state.get part": {after: 6, call: get(think.StateGetInput{Var: "part"})},
		"state.list": {after: 2, call: func(ctx context.Context, e *think.Engine) (any, error) {
			return e.StateList(ctx, think.StateListInput{})
		}},
		"replay":   {after: 8, call: debug(audit.DebugInput{Action: "replay"})},
		"diff":     {after: 8, call: debug(audit.DebugInput{Action: "diff", FromStep: "v2"})},
		"step":     {after: 7, call: debug(audit.DebugInput{Action: "step"})},
		"fork":     {after: 5, call: debug(audit.DebugInput{Action: "fork", NewRunID: "forked"}), again: fault.StateConflict},
		"position": {after: 8, call: func(ctx context.Context, e *think.Engine) (any, error) { return e.Position(ctx, "", "r") }},
	}
	for i, step := range faultySteps[1:] {
		calls[fmt.Sprintf("answer %d", i+1)] = faultyCall{after: i + 1, call: step}
	}
	return calls
}

// faulty is a run over a store whose calls can fail.
type faulty struct {
	store  *failing
	engine *think.Engine
}

func newFaulty(t *testing.T, answers int, reopened bool) *faulty {
	f := &faulty{store: &failing{Storage: statetest.NewMemory()}}
	f.open(t)
	for _, step := range faultySteps[:answers] {
		_, err := step(t.Context(), f.engine)
		require.NoError(t, err)
	}
	if reopened {
		f.open(t)
	}
	return f
}

func (f *faulty) open(t *testing.T) {
	files := fstest.MapFS{"workflows/faulty.yaml": {Data: []byte(faultyWorkflow)}}
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	f.engine = think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: f.store, ProjectEvery: time.Hour,
		Now: func() time.Time { return now }, NewID: func() string { return "fresh" },
		Tools: digested{digest: "d"}, Receipts: faultyReceipts{f: f, now: now}})
	t.Cleanup(f.engine.Close)
}

// digested are tools whose calls have one digest, whatever they are called with.
type digested struct {
	think.AnyTools
	digest string
}

// Asked implements think.Tools.
func (d digested) Asked(call string, _ json.RawMessage) (tool, digest string, err error) {
	return call, d.digest, nil
}

// noReceipts keeps and has none.
type noReceipts struct{}

// PutReceipt implements state.Receipts, as the other methods do.
func (noReceipts) PutReceipt(context.Context, state.Receipt) error { return nil }

// Receipt finds none.
func (noReceipts) Receipt(context.Context, string) (state.Receipt, error) {
	return state.Receipt{}, fault.New(fault.NotWitnessed, "none is kept")
}

// LatestCall knows none.
func (noReceipts) LatestCall(context.Context, string, string) (latest state.LatestCall, err error) {
	return latest, nil
}

// UseReceipt gives every receipt to whoever asks.
func (noReceipts) UseReceipt(_ context.Context, _, use string) (taken string, err error) {
	return use, nil
}

// faultyReceipts has one receipt, read from the faulty store.
type faultyReceipts struct {
	noReceipts
	f   *faulty
	now time.Time
}

// Receipt implements state.Receipts.
func (r faultyReceipts) Receipt(context.Context, string) (state.Receipt, error) {
	if err := r.f.store.read("Receipt"); err != nil {
		return state.Receipt{}, err
	}
	return state.Receipt{ID: "seenaaaa", Tool: "tool.read", Input: "d", Result: json.RawMessage(faultyLong("d")), Time: r.now}, nil
}

// finish answers what is left, and holds the outputs and the records to those of
// a run without faults; one that was deleted is planned anew.
func (f *faulty) finish(t *testing.T) {
	for range 2 {
		_, err := faultySteps[0](t.Context(), f.engine)
		require.NoError(t, err)
		for _, step := range faultySteps {
			at, err := f.engine.Position(t.Context(), "", "r")
			require.NoError(t, err)
			if at.Final != nil {
				break
			}
			_, _ = step(t.Context(), f.engine) // those that are answered are repeated, or refused after a reset
		}
		at, err := f.engine.Position(t.Context(), "", "r")
		require.NoError(t, err)
		require.NotNil(t, at.Final, "%v", at.Outstanding)
		var want any
		require.NoError(t, json.Unmarshal([]byte(`{"long":`+faultyLong("a")+`,"part":"b","all":[`+faultyLong("c")+`,{"short":true}],"seen":`+faultyLong("d")+`}`), &want))
		require.Equal(t, want, any(at.Final.Outputs))
		replayed, err := audit.New(f.engine).Debug(t.Context(), audit.DebugInput{RunID: "r", Action: "replay"})
		require.NoError(t, err)
		require.Equal(t, "identical", replayed.Verdict, "%v", replayed.Difference)
		f.open(t)
	}
}

// failing is a store of which one call fails: reads with INTERNAL, writes with
// STATE_NOT_SAVED.
type failing struct {
	state.Storage
	counts bool
	calls  []storeCall
	fails  storeFault
}

type storeCall struct {
	name   string
	writes bool
}

// storeFault lets a call of the store fail by its number, from 1; done: after it
// did what it was called for.
type storeFault struct {
	at   int
	done bool
}

// fault notes a call and says whether it fails.
func (f *failing) fault(call storeCall) bool {
	if !f.counts {
		return false
	}
	f.calls = append(f.calls, call)
	return len(f.calls) == f.fails.at
}

func (f *failing) read(name string) error {
	if f.fault(storeCall{name: name}) {
		return fault.New(fault.Internal, "the disk fails in %s", name)
	}
	return nil
}

func (f *failing) write(name string, do func() error) error {
	if !f.fault(storeCall{name, true}) {
		return do()
	}
	if f.fails.done {
		if err := do(); err != nil {
			return err
		}
	}
	return fault.New(fault.StateNotSaved, "the disk fails in %s", name)
}

func (f *failing) Append(ctx context.Context, key state.Key, next state.Record) (record state.Record, err error) {
	err = f.write("Append", func() (err error) {
		record, err = f.Storage.Append(ctx, key, next)
		return err
	})
	return record, err
}

func (f *failing) Save(ctx context.Context, key state.Key, name string, snapshot state.Snapshot) error {
	return f.write("Save", func() error { return f.Storage.Save(ctx, key, name, snapshot) })
}

func (f *failing) Delete(ctx context.Context, key state.Key) error {
	return f.write("Delete", func() error { return f.Storage.Delete(ctx, key) })
}

func (f *failing) PutArtifact(ctx context.Context, data []byte) (digest string, err error) {
	err = f.write("PutArtifact", func() (err error) {
		digest, err = f.Storage.PutArtifact(ctx, data)
		return err
	})
	return digest, err
}

func (f *failing) Records(ctx context.Context, key state.Key, after, limit int) ([]state.Record, error) {
	if err := f.read("Records"); err != nil {
		return nil, err
	}
	return f.Storage.Records(ctx, key, after, limit)
}

func (f *failing) Head(ctx context.Context, key state.Key) (int, string, error) {
	if err := f.read("Head"); err != nil {
		return 0, "", err
	}
	return f.Storage.Head(ctx, key)
}

func (f *failing) Load(ctx context.Context, key state.Key, name string) (state.Snapshot, error) {
	if err := f.read("Load"); err != nil {
		return state.Snapshot{}, err
	}
	return f.Storage.Load(ctx, key, name)
}

func (f *failing) Checkpoints(ctx context.Context, key state.Key) ([]state.CheckpointInfo, error) {
	if err := f.read("Checkpoints"); err != nil {
		return nil, err
	}
	return f.Storage.Checkpoints(ctx, key)
}

func (f *failing) List(ctx context.Context, filter state.Filter) ([]state.Info, error) {
	if err := f.read("List"); err != nil {
		return nil, err
	}
	return f.Storage.List(ctx, filter)
}

func (f *failing) Artifact(ctx context.Context, digest string) ([]byte, error) {
	if err := f.read("Artifact"); err != nil {
		return nil, err
	}
	return f.Storage.Artifact(ctx, digest)
}
