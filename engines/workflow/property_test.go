package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// world is a random workflow and what its tools, its model and its person
// answer: a pure function of the instruction.
type world struct {
	text     string
	parallel int
	seed     uint64
}

// draw returns a world; where it is gentle every failure is passed over.
func draw(t *rapid.T, gentle bool) world {
	var out strings.Builder
	parallel := rapid.IntRange(1, 4).Draw(t, "parallel")
	fmt.Fprintf(&out, "name: main\nversion: \"1\"\nlimits: {parallel: %d}\nsteps:\n", parallel)
	count := rapid.IntRange(1, 8).Draw(t, "steps")
	for i := range count {
		step(t, &out, i, gentle)
	}
	out.WriteString("outputs:\n")
	for i := range count {
		fmt.Fprintf(&out, "  s%d: \"{{ steps.s%d.status }}\"\n  c%d: \"{{ c%d ?? 'none' }}\"\n", i, i, i, i)
	}
	return world{out.String(), parallel, rapid.Uint64().Draw(t, "seed")}
}

// step writes one step, which may depend on those before it.
func step(t *rapid.T, out *strings.Builder, i int, gentle bool) {
	one := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "one of") }
	value := func() string {
		if i > 0 && rapid.Bool().Draw(t, "reads") {
			return fmt.Sprintf("{{ c%d ?? 'nothing' }}", rapid.IntRange(0, i-1).Draw(t, "which"))
		}
		return "{{ run.id }}"
	}
	fmt.Fprintf(out, "  - id: s%d\n    capture_as: c%d\n    join: %s\n", i, i, one("all", "all", "any", "done"))
	switch one("tool", "tool", "tool", "model", "person", "set", "loop") {
	case "loop":
		fmt.Fprintf(out, "    foreach: 1..%d\n    call: tool.read\n    input_template: {id: s%d, n: \"{{ item }}\", v: %q}\n", rapid.IntRange(0, 3).Draw(t, "items"), i, value())
	case "model":
		fmt.Fprintf(out, "    call: llm.generate\n    input_template: {id: s%d, task: %q}\n    success_schema: {type: object, required: [n]}\n", i, value())
	case "person":
		fmt.Fprintf(out, "    call: human.approve\n    input_template: {message: %q}\n", value())
	case "set":
		fmt.Fprintf(out, "    call: flow.set\n    input_template: {value: {v: %q}}\n", value())
	default:
		fmt.Fprintf(out, "    call: tool.read\n    input_template: {id: s%d, v: %q}\n    retry: {max: %d}\n", i, value(), rapid.IntRange(0, 2).Draw(t, "retries"))
	}
	if i > 0 && rapid.Bool().Draw(t, "ordered") {
		fmt.Fprintf(out, "    deps: [s%d]\n", rapid.IntRange(0, i-1).Draw(t, "after"))
	}
	if i > 0 && rapid.IntRange(0, 3).Draw(t, "conditional") == 0 {
		fmt.Fprintf(out, "    when: steps.s%d.status != %q\n", rapid.IntRange(0, i-1).Draw(t, "of"), one("done", "failed", "skipped"))
	}
	if gentle {
		out.WriteString("    on_failure: continue\n")
	} else {
		fmt.Fprintf(out, "    on_failure: %s\n", one("fail", "continue", "skip_rest"))
	}
}

// result is what comes of an instruction: a value, or an error. Its input names
// the step.
func (w world) result(input json.RawMessage, attempt int) (json.RawMessage, error) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", w.seed, input, attempt)
	switch chance := h.Sum64(); chance >> 40 % 6 {
	case 0:
		return nil, fault.New(fault.ToolFailed, "chance has it")
	case 1:
		return json.RawMessage(`{"m":1}`), nil
	default:
		return fmt.Appendf(nil, `{"n":%d}`, chance>>8%5), nil
	}
}

// session is one run over a store of its own, where time stands still.
type session struct {
	t      *rapid.T
	world  world
	store  *statetest.Memory
	engine *think.Engine
	mu     sync.Mutex
	calls  map[string]int // by input
}

func (w world) session(t *rapid.T) *session {
	s := &session{t: t, world: w, store: statetest.NewMemory(), calls: map[string]int{}}
	s.engine = newEngine(s.store, map[string]string{"main": w.text})
	s.engine.Now = func() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }
	t.Cleanup(s.engine.Close)
	return s
}

// Invoke answers a tool's call, at some moment.
func (s *session) Invoke(_ context.Context, _ engines.Call, _ string, args json.RawMessage) (engines.Result, error) {
	s.mu.Lock()
	s.calls[string(args)]++
	attempt := s.calls[string(args)]
	s.mu.Unlock()
	for range rand.IntN(20) {
		runtime.Gosched()
	}
	value, err := s.world.result(args, attempt)
	return engines.Result{JSON: value}, err
}

func (s *session) generate(_ context.Context, question workflow.Question) (json.RawMessage, error) {
	return s.world.result(question.Input, question.Attempt)
}

// drive has the run driven, with a person who answers when it waits for one.
func (s *session) drive() {
	driver := workflow.New(workflow.Options{Think: s.engine, Toolbox: s, Generate: s.generate})
	defer driver.Close()
	for {
		outcome, err := driver.Run(s.t.Context(), engines.Call{}, workflow.Request{Workflow: "main", RunID: "r"}, nil)
		require.NoError(s.t, err, s.world.text)
		if outcome.Status != workflow.Waiting {
			return
		}
		require.Equal(s.t, workflow.ForPerson, outcome.Pending.For)
		at, err := s.engine.Position(s.t.Context(), "main", "r")
		require.NoError(s.t, err)
		s.give(at.Outstanding[0])
	}
}

// guide is a client that answers the steps in an order; where that is empty,
// the first that is no person's, and those when there is no other.
func (s *session) guide(order []string) {
	_, err := s.engine.Plan(s.t.Context(), think.PlanInput{Workflow: "main", RunID: "r"})
	s.tolerate(err)
	for i := 0; ; i++ {
		at, err := s.engine.Position(s.t.Context(), "main", "r")
		require.NoError(s.t, err)
		if len(at.Outstanding) == 0 || at.Blocked != nil {
			return
		}
		pick := slices.IndexFunc(at.Outstanding, func(each flow.Instruction) bool {
			if order != nil {
				return each.StepID == order[i]
			}
			return each.Call != flow.CallApprove || at.Status == flow.Waiting
		})
		require.GreaterOrEqual(s.t, pick, 0, s.world.text)
		s.give(at.Outstanding[pick])
	}
}

// give answers an instruction as a client and a person do.
func (s *session) give(next flow.Instruction) {
	ctx := s.t.Context()
	input, err := jsonvalue.Encode(next.Input)
	require.NoError(s.t, err)
	value, failed := s.world.result(input, next.Attempt)
	if next.Call == flow.CallApprove {
		waiting, err := s.engine.Pending(ctx, "main", "r")
		require.NoError(s.t, err)
		at := slices.IndexFunc(waiting, func(p think.Pending) bool { return p.StepID == next.StepID })
		_, err = s.engine.Approve(ctx, think.Pending{Workflow: "main", RunID: "r", StepID: next.StepID, Digest: waiting[at].Digest}, map[string]any{"approved": failed == nil}, think.Caller{Name: think.ByTerminal})
		s.tolerate(err)
		return
	}
	if failed != nil {
		text, err := jsonvalue.Encode(fault.From(failed))
		require.NoError(s.t, err)
		value, err = jsonvalue.Encode(map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": string(text)}}})
		require.NoError(s.t, err)
	}
	_, err = s.engine.Next(ctx, think.NextInput{Workflow: "main", RunID: "r", StepID: next.StepID, Attempt: next.Attempt, ResultSnapshot: value})
	s.tolerate(err)
}

// tolerate lets pass what a run answers to a bad result, and what blocks it.
func (s *session) tolerate(err error) {
	if err == nil {
		return
	}
	_, recorded := fault.From(err).Extra["state"]
	require.True(s.t, recorded, "%v\n%s", err, s.world.text)
}

// records are the run's journal: every answer, every reply, every hash.
func (s *session) records() []state.Record {
	records, err := s.store.Records(s.t.Context(), state.Key{Workflow: "main", Run: "r"}, 0, 0)
	require.NoError(s.t, err)
	return records
}

// order is that in which the steps were answered.
func (s *session) order() []string {
	got, err := s.engine.StateGet(s.t.Context(), think.StateGetInput{Workflow: "main", RunID: "r"})
	require.NoError(s.t, err)
	var steps []string
	for _, event := range got.History[1:] {
		steps = append(steps, event.Step)
	}
	return steps
}

func (s *session) hash() string {
	records := s.records()
	return records[len(records)-1].State
}

// A driven run is a guided run with the same results in the same order: the two
// journals are equal byte for byte, replies and hash chains included. With one
// instruction at a time the order is that of a client that does as it is told.
func TestADrivenRunIsAGuidedRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world := draw(t, false)
		driven, guided := world.session(t), world.session(t)
		driven.drive()
		order := driven.order()
		if world.parallel == 1 {
			order = nil
		}
		guided.guide(order)
		require.Equal(t, guided.records(), driven.records(), "%s", world.text)
	})
}

// Where no failure ends the workflow, the order in which parallel answers come
// does not matter to the final state.
func TestADrivenRunEndsAsAGuidedRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world := draw(t, true)
		driven, guided := world.session(t), world.session(t)
		driven.drive()
		guided.guide(nil)
		require.Equal(t, guided.hash(), driven.hash(), "%s", world.text)
	})
}
