package workflow_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
)

// A run that is claimed by another program is left alone; one that is claimed
// here is let go of at the end, and one that is over needs no claim.
func TestARunIsClaimedWhileItIsDriven(t *testing.T) {
	taken, claims, calls := true, 0, 0
	b := setup(t, nil, one(`
steps:
  - {id: a, call: tool.a}
`), workflow.Options{
		Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) {
			require.True(t, taken)
			calls++
			return gives(`{}`)
		}),
		Claim: func(_ context.Context, _, run string) (func(), error) {
			if claims++; taken {
				return nil, fault.New(fault.StateConflict, "run %s is another's", run)
			}
			taken = true
			return func() { taken = false }, nil
		},
	})
	_, err := b.driver.Run(t.Context(), engines.Call{}, request, nil)
	require.ErrorIs(t, err, fault.StateConflict)
	require.Zero(t, calls)

	taken = false
	outcome, err := b.driver.Run(t.Context(), engines.Call{}, request, nil)
	require.NoError(t, err)
	require.Equal(t, workflow.Done, outcome.Status)
	require.Equal(t, 1, calls)
	require.False(t, taken)
	_, err = b.driver.Run(t.Context(), engines.Call{}, request, nil)
	require.NoError(t, err)
	require.Equal(t, 2, claims)
}

// A drive that is interrupted while it looks at its run, or waits to have it for
// itself, says like any other where the run stands.
func TestAnInterruptedClaimLeavesARunThatIsReported(t *testing.T) {
	for name, claim := range map[string]func(context.Context) error{
		"had":     func(context.Context) error { return nil },
		"awaited": func(ctx context.Context) error { return context.Cause(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := setup(t, nil, one("steps: [{id: a, call: tool.a}]"), workflow.Options{
				Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) { return gives(`{}`) }),
				Claim: func(driven context.Context, _, _ string) (func(), error) {
					cancel()
					<-driven.Done()
					return func() {}, claim(driven)
				},
			})
			outcome, err := b.driver.Run(ctx, engines.Call{}, request, nil)
			require.ErrorIs(t, err, context.Canceled)
			require.NotNil(t, outcome)
			require.Equal(t, workflow.Interrupted, outcome.Status)
			require.Equal(t, "r", outcome.RunID)
		})
	}
}
