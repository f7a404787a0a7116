package engines_test

import (
	"context"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// Tools that heed their context run where they are called, and what goes wrong
// in them ends there all the same.
func TestToolsThatHeedRunWhereTheyAreCalled(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		registry := engines.NewRegistry(engines.Options{})
		tools := []engines.Tool{
			engines.Bind("own.stack", "Says where it runs.", func(context.Context, struct{}) (string, error) { return string(debug.Stack()), nil }),
			engines.Bind("own.panic", "Panics.", func(context.Context, struct{}) (string, error) { panic("inside") }),
			engines.Bind("own.wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}),
		}
		for i := range tools {
			tools[i].Heeds = heeds
		}
		require.NoError(t, registry.AddEngine(engines.Engine{Name: "own", Concurrency: 1}, tools...))
		stack, err := registry.Call(t.Context(), "own.stack", nil)
		require.NoError(t, err)
		require.Equal(t, heeds, strings.Contains(stack.(string), "(*Registry).Call("), stack)
		for range 2 { // its place is free again
			_, err = registry.Call(t.Context(), "own.panic", nil)
			require.ErrorIs(t, err, fault.Internal)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = registry.Call(ended, "own.wait", nil)
			require.ErrorIs(t, err, fault.ToolFailed)
		}
	}
}
