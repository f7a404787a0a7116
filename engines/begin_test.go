package engines_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

type begunKey struct{}

// observerFunc is a function as an Observer.
type observerFunc func(ctx context.Context, call engines.Call, begun engines.Event, args json.RawMessage) (context.Context, func(engines.Event))

// Begin implements engines.Observer.
func (f observerFunc) Begin(ctx context.Context, call engines.Call, begun engines.Event, args json.RawMessage) (context.Context, func(engines.Event)) {
	return f(ctx, call, begun, args)
}

// TestBeginAndEndOfACall: the tool runs in the context that Begin returns, and
// every begin has one end, also of a call that was refused.
func TestBeginAndEndOfACall(t *testing.T) {
	var begun, ended []engines.Event
	table := engines.NewRegistry(engines.Options{Observer: observerFunc(func(ctx context.Context, _ engines.Call, e engines.Event, args json.RawMessage) (context.Context, func(engines.Event)) {
		begun = append(begun, e)
		return context.WithValue(ctx, begunKey{}, string(args)), func(e engines.Event) { ended = append(ended, e) }
	})})
	type in struct {
		Text string `json:"text"`
	}
	require.NoError(t, table.Add(engines.Bind("test.inside", "Says what its context holds.", func(ctx context.Context, _ in) (map[string]any, error) {
		return map[string]any{"text": ctx.Value(begunKey{})}, nil
	})))
	result, err := table.Invoke(t.Context(), engines.Call{}, "test_inside", json.RawMessage(`{"text":"a"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"{\"text\":\"a\"}"}`, string(result.JSON))
	for _, name := range []string{"test.inside", "test.nothing"} {
		_, err = table.Invoke(t.Context(), engines.Call{}, name, json.RawMessage(`{"text":1}`))
		require.Error(t, err)
	}
	require.Len(t, begun, 3)
	require.Len(t, ended, 3)
	for i, outcome := range []string{engines.OutcomeOK, "INVALID_PARAMS", "UNKNOWN_TOOL"} {
		require.Equal(t, begun[i].Tool, ended[i].Tool)
		require.Equal(t, outcome, ended[i].Outcome)
	}
	require.Equal(t, "test.inside", begun[0].Tool)
	require.Equal(t, "test", begun[0].Engine)
}
