package engines_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// undeclared returns arguments of which count are none of the tool's.
func undeclared(count int) json.RawMessage {
	var out strings.Builder
	out.WriteString(`{"workflow": "a"`)
	for i := range count {
		fmt.Fprintf(&out, `, "argument_%d": 1`, i)
	}
	return json.RawMessage(out.String() + "}")
}

// counts is a Judge that counts the undeclared arguments.
type counts int

func (c *counts) Stray(_, stray map[string]json.RawMessage) error {
	*c += counts(len(stray))
	return nil
}

func (*counts) Advise(_ context.Context, _ engines.Call, _ map[string]json.RawMessage, refused error) error {
	return refused
}

// TestUndeclaredArgumentsAreCounted: a call with very many is refused before any of them
// is compared with what the tool has; a few, which clients add, are dropped.
func TestUndeclaredArgumentsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	compared := counts(0)
	tool := named("x.echo")
	tool.Judge = &compared
	table := registry(t, nil, tool)
	for _, count := range []int{1001, 100_000} {
		_, err := table.Call(t.Context(), "x.echo", undeclared(count))
		require.ErrorIs(t, err, fault.InvalidParams)
		require.ErrorContains(t, err, fmt.Sprintf("x.echo: the tool does not declare %d of the arguments", count))
		require.Zero(t, compared)
	}
	result, err := table.Call(t.Context(), "x.echo", undeclared(1000))
	require.NoError(t, err)
	got, err := json.Marshal(result)
	require.NoError(t, err)
	require.JSONEq(t, `{"workflow": "a"}`, string(got))
	require.EqualValues(t, 1000, compared)
}

// TestArgumentsOfAnOpenToolAreCounted: a schema that accepts any argument accepts no number
// of them; the twin passes a thousand on as they came.
func TestArgumentsOfAnOpenToolAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	for _, schema := range []string{
		`{"type": "object"}`,
		`{"type": "object", "properties": {"workflow": {"type": "string"}}, "additionalProperties": true}`,
		`{"type": "object", "properties": {"workflow": {"type": "string"}}, "additionalProperties": {"type": ["integer", "string"]}}`,
		`{"type": "object", "patternProperties": {"^argument_": {"type": "integer"}}}`,
	} {
		tool := named("x.echo")
		tool.Input = json.RawMessage(schema)
		tool.Call = func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) { return args, nil }
		table := registry(t, nil, tool)
		for _, count := range []int{1002, 400_000} {
			_, err := table.Call(t.Context(), "x.echo", undeclared(count))
			require.ErrorIs(t, err, fault.InvalidParams)
			require.ErrorContains(t, err, "a call may have at most 1000 undeclared ones")
		}
		sent := undeclared(999)
		result, err := table.Call(t.Context(), "x.echo", sent)
		require.NoError(t, err)
		got, err := json.Marshal(result)
		require.NoError(t, err)
		require.JSONEq(t, string(sent), string(got))
	}
}
