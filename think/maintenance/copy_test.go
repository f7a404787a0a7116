package maintenance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think"
	"savant/think/state"
)

// listed is a store whose reader goes away once the runs are listed.
type listed struct {
	state.Backend
	leave func()
}

func (l listed) List(ctx context.Context, filter state.Filter) ([]state.Info, error) {
	defer l.leave()
	return l.Backend.List(ctx, filter)
}

// A copy that was cancelled before its first run does not pass for one of all runs.
func TestACancelledCopyIsNotWhole(t *testing.T) {
	engine, keeper := exporter(t)
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: "r"})
	require.NoError(t, err)
	target, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Copy(ctx, listed{keeper.dir, cancel}, target, CopyInput{})
	require.ErrorIs(t, err, context.Canceled)
	copied, err := Copy(t.Context(), keeper.dir, target, CopyInput{})
	require.NoError(t, err)
	require.Equal(t, 1, copied.New)
}
