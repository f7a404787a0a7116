package think_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/library"
	"savant/think/state"
)

// clock is one that somebody sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

const clockWorkflow = `name: clocked
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: tool.look, input_template: {at: "{{ state.a }}"}, witness: required, deps: [a], capture_as: b}
  - {id: c, call: llm.generate, input_template: {task: C}, timeout: 1h, deps: [b]}
  - {id: d, call: llm.generate, input_template: {task: D}, deps: [c]}
`

// clockReceipts are two receipts of tool.look: "now" and "old".
type clockReceipts struct {
	noReceipts
	clock *clock
}

// Receipt implements state.Receipts.
func (c clockReceipts) Receipt(_ context.Context, id string) (state.Receipt, error) {
	made := map[string]time.Time{"now": c.clock.now(), "old": time.Unix(1, 0)}[id]
	return state.Receipt{ID: id, Tool: "tool.look", Input: "digest", Result: json.RawMessage(`1`), Time: made}, nil
}

// openClocked is an engine over a folder whose clock is set, and whose calls of
// tool.look leave the receipt "now", dated now, or "old", dated before all.
func openClocked(t *testing.T, root string, c *clock) *think.Engine {
	store, err := state.Open(root, state.Options{})
	require.NoError(t, err)
	files := fstest.MapFS{"workflows/clocked.yaml": {Data: []byte(clockWorkflow)}}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: c.now, NewID: func() string { return "r" },
		Tools: digested{digest: "digest"}, Receipts: clockReceipts{clock: c}})
	t.Cleanup(func() {
		engine.Close()
		require.NoError(t, store.Close())
	})
	return engine
}

// While the clock shows a time before a step was issued, no receipt can be
// young enough: it is said that the clock is the cause, and a reset hands the
// step out by the new time. An old receipt stays refused.
func TestAClockThatWasSetBackIsReportedAndCorrected(t *testing.T) {
	t.Parallel()
	root, c := t.TempDir(), &clock{at: time.Unix(1_800_000_000, 0)}
	engine := openClocked(t, root, c)
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "clocked", RunID: "r"})
	require.NoError(t, err)
	_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`1`)})
	require.NoError(t, err)
	c.move(-time.Hour)
	for range 2 { // also as another process has it
		_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "b", ResultRef: "now"})
		require.ErrorIs(t, err, fault.NotWitnessed)
		for _, named := range []string{"1h0m0s", "think.reset", "tool.look"} {
			require.ErrorContains(t, err, named)
		}
		engine = openClocked(t, root, c)
	}
	_, err = engine.Reset(t.Context(), think.ResetInput{RunID: "r", Checkpoint: "v2"})
	require.NoError(t, err)
	c.move(time.Second)
	for range 2 {
		_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "b", ResultRef: "old"})
		require.ErrorIs(t, err, fault.NotWitnessed)
		require.ErrorContains(t, err, "tool.look")
		require.NotContains(t, err.Error(), "think.reset", "the clock is no longer the cause")
		engine = openClocked(t, root, c)
	}
	_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "b", ResultRef: "now"})
	require.NoError(t, err)
	verdict, err := audit.New(engine).Debug(t.Context(), audit.DebugInput{RunID: "r", Action: "replay"})
	require.NoError(t, err)
	require.Equal(t, "identical", verdict.Verdict)
}

// However the clock is set between steps and processes, a run that needs no
// receipt goes on, repeats its replies, and replays.
func TestARunDoesNotDependOnTheClock(t *testing.T) {
	t.Parallel()
	check(t, 400, func(r *rapid.T) {
		root, c := t.TempDir(), &clock{at: time.Unix(1_800_000_000, 0)}
		jump := rapid.Custom(func(r *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(-5_000_000, 5_000_000).Draw(r, "seconds")) * time.Second
		})
		engine := openClocked(t, root, c)
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "clocked", RunID: "r"})
		require.NoError(r, err)
		for _, step := range []string{"a", "c", "d"} {
			c.move(jump.Draw(r, "jump"))
			if rapid.Bool().Draw(r, "another process") {
				engine = openClocked(t, root, c)
			}
			in := think.NextInput{RunID: "r", StepID: step, ResultSnapshot: json.RawMessage(`1`)}
			if step == "c" { // b between them, issued again by the present clock
				_, err = engine.Reset(t.Context(), think.ResetInput{RunID: "r", Checkpoint: "v2"})
				require.NoError(r, err)
				_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "b", ResultRef: "now"})
				require.NoError(r, err)
			}
			reply, err := engine.Next(t.Context(), in)
			require.NoError(r, err)
			again, err := engine.Next(t.Context(), in)
			require.NoError(r, err)
			first, err := json.Marshal(reply)
			require.NoError(r, err)
			second, err := json.Marshal(again)
			require.NoError(r, err)
			require.Equal(r, string(first), string(second))
		}
		verdict, err := audit.New(engine).Debug(t.Context(), audit.DebugInput{RunID: "r", Action: "replay"})
		require.NoError(r, err)
		require.Equal(r, "identical", verdict.Verdict)
	})
}
