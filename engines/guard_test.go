package engines_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// refusing is a guard that lets no call of one tool pass.
type refusing string

func (r refusing) Permit(_ context.Context, tool engines.Tool, args json.RawMessage) error {
	if tool.Name == string(r) {
		return fault.New(fault.ToolDenied, "%s %s", tool.Name, args)
	}
	return nil
}

// A guard holds for what a call does, at any depth and after the call, not for the
// call itself; a guard within it can only add to it.
func TestGuardsHoldWithinACall(t *testing.T) {
	registry := engines.NewRegistry(engines.Options{})
	type in struct {
		Text string `json:"text,omitempty"`
	}
	leaf := engines.Bind("a.leaf", "A leaf.", func(context.Context, in) (any, error) { return map[string]any{}, nil })
	other := engines.Bind("a.other", "Another.", func(context.Context, in) (any, error) { return map[string]any{}, nil })
	inner := engines.BindCall("a.inner", "Calls a leaf.", func(ctx context.Context, from engines.Call, given in) (any, error) {
		return registry.Invoke(ctx, from, given.Text, json.RawMessage(`{"unknown":1,"text":"x"}`))
	})
	outer := engines.BindCall("a.outer", "Calls what calls a leaf, under one guard more and after the call.", func(_ context.Context, from engines.Call, given in) (any, error) {
		return registry.Invoke(context.Background(), from.Detached().Guarded(refusing("a.other")), "a.inner", json.RawMessage(`{"text":"`+given.Text+`"}`))
	})
	require.NoError(t, registry.Add(leaf, other, inner, outer))
	call := func(from engines.Call, name, text string) error {
		_, err := registry.Invoke(t.Context(), from, name, json.RawMessage(`{"text":"`+text+`"}`))
		return err
	}
	guarded := engines.Call{}.Guarded(refusing("a.leaf"))
	require.NoError(t, call(engines.Call{}, "a.outer", "a.leaf"))
	require.NoError(t, call(guarded, "a.leaf", ""), "the call itself is settled")
	require.NoError(t, call(guarded, "a.inner", "a.other"))
	err := call(guarded, "a.outer", "a.leaf")
	require.ErrorIs(t, err, fault.ToolDenied)
	require.ErrorContains(t, err, `a.leaf {"text":"x"}`, "a guard sees the arguments as the tool would get them")
	require.ErrorIs(t, call(guarded, "a.outer", "a.other"), fault.ToolDenied)
	require.ErrorIs(t, call(guarded, "a.outer", "a_other"), fault.ToolDenied, "in either spelling")
}
