package think

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/library"
	"savant/think/state"
	"savant/think/state/statetest"
)

// What is in memory is bounded by its size too: the runs used longest ago go,
// and never one that is in use.
func TestLargeRunsLeaveTheMemory(t *testing.T) {
	t.Run("above the bound", func(t *testing.T) { testLeaving(t, maxRunSteps, time.Second) })
	t.Run("once they rest", func(t *testing.T) { testLeaving(t, manySteps, resting) })
}

// Runs that are all asked for in turn stay, though they are many steps.
func TestLargeRunsInTurnStay(t *testing.T) {
	engine, open := newCrowd(t, time.Millisecond)
	for i := range 8 {
		open(i, manySteps/4).mu.Unlock()
	}
	require.Len(t, engine.live, 8)
}

// newCrowd is an engine whose clock goes on with each look at it, and a
// function that opens a run as if it had so many steps.
func newCrowd(t *testing.T, tick time.Duration) (*Engine, func(run, size int) *live) {
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	at := time.Unix(0, 0)
	engine := New(Options{Library: library.New(library.Layer{Files: files}), Store: statetest.NewMemory(),
		Now: func() time.Time { at = at.Add(tick); return at }})
	t.Cleanup(engine.Close)
	return engine, func(i, size int) *live {
		run := fmt.Sprintf("r%d", i)
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "one", RunID: run})
		require.NoError(t, err)
		l, err := engine.open(t.Context(), "one", run)
		require.NoError(t, err)
		engine.mu.Lock()
		defer engine.mu.Unlock()
		engine.size += size - l.size // as if it had grown
		l.size = size
		return l
	}
}

func testLeaving(t *testing.T, bound int, tick time.Duration) {
	engine, open := newCrowd(t, tick)
	busy := open(0, 2)
	for i := 1; i <= 3; i++ {
		open(i, bound/3).mu.Unlock()
	}
	open(4, 2).mu.Unlock()
	require.Contains(t, engine.live, busy.key, "a run in use stays")
	require.NotContains(t, engine.live, state.Key{Workflow: "one", Run: "r1"})
	for i := 2; i <= 4; i++ {
		require.Contains(t, engine.live, state.Key{Workflow: "one", Run: fmt.Sprint("r", i)})
	}
	busy.mu.Unlock()
	l, err := engine.open(t.Context(), "one", "r1")
	require.NoError(t, err, "it is read again when it is asked for")
	l.mu.Unlock()
}
