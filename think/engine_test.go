package think

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think/state"
	"savant/think/state/statetest"
)

// What is in memory is bounded by its size too: the runs used longest ago go,
// and never one that is in use.
func TestLargeRunsLeaveTheMemory(t *testing.T) {
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	at := time.Unix(0, 0)
	engine := New(Options{Library: NewLibrary(Layer{Files: files}), Store: statetest.NewMemory(),
		Now: func() time.Time { at = at.Add(time.Second); return at }})
	t.Cleanup(engine.Close)
	open := func(i int) *live {
		run := fmt.Sprintf("r%d", i)
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "one", RunID: run})
		require.NoError(t, err)
		l, err := engine.open(t.Context(), "one", run)
		require.NoError(t, err)
		return l
	}
	busy := open(0)
	for i := 1; i <= 3; i++ {
		l := open(i)
		engine.mu.Lock()
		engine.size += maxLiveSteps/3 - l.size // as if it had grown
		l.size = maxLiveSteps / 3
		engine.mu.Unlock()
		l.mu.Unlock()
	}
	open(4).mu.Unlock()
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
