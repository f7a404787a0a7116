package think

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/test/statetest"
	"savant/think/library"
	"savant/think/state"
)

// Of the runs in memory the one used longest ago leaves first, and is read again
// when it is asked for.
func TestTheRunUsedLongestAgoLeavesTheMemory(t *testing.T) {
	t.Parallel()
	engine := New(Options{Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/two.yaml": {Data: []byte(twoSteps)}}}), Store: statetest.NewMemory()})
	t.Cleanup(engine.Close)
	key := func(i int) state.Key { return state.Key{Workflow: "two", Run: fmt.Sprint("r", i)} }
	open := func(i int) {
		l, err := engine.open(t.Context(), "two", key(i).Run)
		require.NoError(t, err)
		l.mu.Unlock()
	}
	for i := range maxLive {
		_, err := engine.Plan(t.Context(), PlanInput{Workflow: "two", RunID: key(i).Run})
		require.NoError(t, err)
	}
	open(0)
	_, err := engine.Plan(t.Context(), PlanInput{Workflow: "two"})
	require.NoError(t, err)
	require.Len(t, engine.live, maxLive)
	require.Contains(t, engine.live, key(0))
	require.NotContains(t, engine.live, key(1))
	open(1)
	require.Contains(t, engine.live, key(1))
}
