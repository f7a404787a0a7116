package expression_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/think/flow/expression"
)

// reads generates expressions with a single read, of values that exist and of values
// that do not.
func reads() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		source := rapid.SampledFrom([]string{"p", "params.p", "a", "state.a", `state["b"]`, "run.id", "steps.s.status"}).Draw(t, "root")
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			source += rapid.SampledFrom([]string{".a", "?.a", ".name", "?.name", `["x-y"]`, "[0]", "?.[1]", "[-1]"}).Draw(t, "member")
		}
		return source
	})
}

// A read alone and the same read inside another expression give the same value, or the
// same error at the same place.
func TestReadIsWhatTheMachineReads(t *testing.T) {
	scope := expression.Scope{Params: expression.NamesOf("p"), Captures: expression.NamesOf("a", "b"), Steps: expression.NamesOf("s")}
	rapid.Check(t, func(t *rapid.T) {
		source, before := reads().Draw(t, "source"), "true ? "
		alone, err := expression.Compile(source, scope)
		require.NoError(t, err)
		within, err := expression.Compile(before+source+" : null", scope)
		require.NoError(t, err)
		captures := map[string]any{"a": values(3).Draw(t, "a"), "b": values(3).Draw(t, "b")}
		env := expression.Env{
			Params: map[string]any{"p": values(3).Draw(t, "p")},
			Steps:  captured(func(name string) any { return captures[name] }),
			Run:    map[string]any{"id": "r", "workflow": "w", "version": "1"},
		}
		value, failed := alone.Eval(env)
		expected, failedWithin := within.Eval(env)
		require.Equal(t, expected, value)
		if failedWithin == nil {
			require.NoError(t, failed)
			return
		}
		var problem, problemWithin *expression.Error
		require.ErrorAs(t, failed, &problem)
		require.ErrorAs(t, failedWithin, &problemWithin)
		problem.Offset += len(before)
		require.Equal(t, problemWithin, problem)
	})
}

func TestReadOfTooMuch(t *testing.T) {
	var deep any
	for range 300 {
		deep = []any{deep}
	}
	program, err := expression.Compile("  a[0]", expression.Scope{Captures: expression.NamesOf("a")})
	require.NoError(t, err)
	_, err = program.Eval(expression.Env{Steps: captured(func(string) any { return deep })})
	var failed *expression.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, fault.ExpressionError, failed.Code)
	require.Equal(t, 3, failed.Offset)
}
