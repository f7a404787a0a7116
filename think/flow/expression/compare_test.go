package expression_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/flow/expression"
)

// given are the values of the root input.
type given map[string]any

// Value implements expression.Values.
func (g given) Value(expression.Read) any { return map[string]any(g) }

// TestAQuickComparisonIsThatOfTheMachine compares every pair of values both ways.
func TestAQuickComparisonIsThatOfTheMachine(t *testing.T) {
	values := given{"i": 1, "j": 2, "f": 1.5, "t": "a", "u": "b", "yes": true, "no": false, "nothing": nil, "list": []any{1}, "map": map[string]any{"a": 1}}
	sides := []string{"1", "2", "-1", "1.5", "'a'", "''", "true", "nil", "input.missing", "input?.missing", "input.map.a", "input.map.b", "input.list[0]", "input.list[5]"}
	for name := range values {
		sides = append(sides, "input."+name)
	}
	env, scope := expression.Env{Values: values}, expression.Scope{Roots: map[string]expression.Root{"input": {}}}
	judged := 0
	for _, left := range sides {
		for _, right := range sides {
			for _, operator := range []string{"==", "!=", "<", "<=", ">", ">="} {
				source := fmt.Sprintf("%s %s %s", left, operator, right)
				program, err := expression.Compile(source, scope)
				if err != nil {
					continue
				}
				condition, err := expression.CompileCondition(source, scope)
				require.NoError(t, err)
				value, wrong := program.Eval(env)
				holds, _, err := condition.Holds(env)
				if wrong != nil {
					require.Equal(t, wrong, err, source)
					continue
				}
				require.NoError(t, err, source)
				require.Equal(t, value, holds, source)
				judged++
			}
		}
	}
	require.Greater(t, judged, 500)
}
