package expression_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// values generates JSON values, small and of every kind.
func values(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.OneOf(rapid.IntRange(-3, 3), rapid.Int()).AsAny(),
		rapid.SampledFrom([]float64{0.5, 2, -1, 1e20, 1e21, 1e-7}).AsAny(),
		rapid.SampledFrom([]string{"", "a", "b", "name", "é", "{{ a }}", "a.go"}).AsAny(),
	}
	if depth > 0 {
		inner := values(depth - 1)
		kinds = append(kinds,
			rapid.SliceOfN(inner, 0, 4).AsAny(),
			rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "name", "x-y"}), inner, 0, 4).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// sources generates expressions over the parameter p and the captures a, b
// and l. Most compile; many fail when they are evaluated.
func sources(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{
		"p", "a", "b", "l", "a?.name", "a.name", "l[0]", "b?.a?.b", "1", "2.5", "0", `"a"`, "null", "true", "[]", "{}", "steps.s.status",
	})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		part := func() string { return sources(depth-1).Draw(t, "part") }
		switch rapid.IntRange(0, 9).Draw(t, "shape") {
		case 0:
			return leaf.Draw(t, "leaf")
		case 1, 2:
			return "(" + part() + rapid.SampledFrom([]string{
				" + ", " - ", " * ", " / ", " % ", " == ", " != ", " < ", " in ", " contains ", " ?? ", " and ", " or ", "..",
			}).Draw(t, "operator") + part() + ")"
		case 3:
			return "(" + part() + " ? " + part() + " : " + part() + ")"
		case 4, 5:
			return rapid.SampledFrom([]string{
				"len", "keys", "values", "toPairs", "uniq", "sort", "reverse", "flatten", "first", "last", "sum", "min",
				"toJSON", "string", "type", "upper", "not ", "-",
			}).Draw(t, "function") + "(" + part() + ")"
		case 6, 7:
			return rapid.SampledFrom([]string{
				"map", "filter", "groupBy", "sortBy", "all", "any", "find", "findLast", "count", "sum", "findLastIndex",
			}).Draw(t, "loop") + "(" + part() + ", " + rapid.SampledFrom([]string{
				"#", "# == ", "# != null and # == ", "string(#) + string", "[#] == ",
			}).Draw(t, "item") + "(" + part() + "))"
		case 8:
			return "[" + part() + ", {a: " + part() + ", b: " + part() + "}]"
		default:
			return "(" + part() + ")?." + rapid.SampledFrom([]string{"a", "name", "b"}).Draw(t, "field")
		}
	})
}

// outcome returns everything that a caller can see of an evaluation.
func outcome(t require.TestingT, program *expression.Program, env expression.Env) string {
	value, err := program.Eval(env)
	if err != nil {
		require.NotContains(t, err.Error(), expression.NotEvaluated, program.Source())
		return err.Error()
	}
	encoded, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return string(encoded)
}

// reinserted returns an equal value whose maps were filled anew, so that the
// runtime walks them in another order.
func reinserted(value any) any {
	switch v := value.(type) {
	case []any:
		fresh := make([]any, len(v))
		for i := range v {
			fresh[i] = reinserted(v[i])
		}
		return fresh
	case map[string]any:
		fresh := make(map[string]any)
		for key := range v {
			fresh[key] = reinserted(v[key])
		}
		return fresh
	default:
		return v
	}
}

func envOf(values map[string]any) expression.Env {
	return expression.Env{
		Params: map[string]any{"p": values["p"]},
		Steps:  captured(func(name string) any { return values[name] }),
	}
}

func propertyScope() expression.Scope {
	return expression.Scope{Params: expression.NamesOf("p"), Captures: expression.NamesOf("a", "b", "l"), Steps: expression.NamesOf("s")}
}

// The same expression over the same values gives the same bytes: in 50 evaluations,
// after compiling anew, with maps filled in another order and with values read back
// from disk. The values are not changed.
func TestEvaluationDependsOnNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := sources(3).Draw(t, "source")
		program, err := expression.Compile(source, propertyScope())
		if err != nil {
			require.NotContains(t, err.Error(), expression.NotCompiled, source)
			again, second := expression.Compile(source, propertyScope())
			require.Nil(t, again)
			require.Equal(t, err, second)
			return
		}
		held := map[string]any{}
		for _, name := range []string{"p", "a", "b"} {
			held[name] = values(2).Draw(t, name)
		}
		held["l"] = rapid.SliceOfN(values(1), 0, 5).Draw(t, "l")
		before, err := jsonvalue.Encode(held)
		require.NoError(t, err)

		want := outcome(t, program, envOf(held))
		for range 50 {
			require.Equal(t, want, outcome(t, program, envOf(held)), source)
		}
		anew, err := expression.Compile(source, propertyScope())
		require.NoError(t, err)
		require.Equal(t, want, outcome(t, anew, envOf(reinserted(held).(map[string]any))), source)

		decoded, err := jsonvalue.Decode(before)
		require.NoError(t, err)
		require.Equal(t, want, outcome(t, program, envOf(decoded.(map[string]any))), source)

		after, err := jsonvalue.Encode(held)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), source)
	})
}

// Every reference that a program declares is all that it asks for.
func TestReferencesAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		program, err := expression.Compile(sources(3).Draw(t, "source"), propertyScope())
		if err != nil {
			return
		}
		declared := map[string]bool{}
		for _, reference := range program.References() {
			declared[reference.Root+"."+reference.Name] = true
		}
		held := map[string]any{"a": values(1).Draw(t, "a"), "b": values(1).Draw(t, "b"), "l": []any{1, "a"}}
		env := envOf(held)
		asked := map[string]bool{}
		env.Steps = watched{held, asked}
		_, _ = program.Eval(env)
		for name := range maps.Keys(asked) {
			require.Contains(t, declared, name, program.Source())
		}
	})
}

// watched notes what is read.
type watched struct {
	held  map[string]any
	asked map[string]bool
}

func (w watched) Capture(name string) any {
	w.asked["state."+name] = true
	return w.held[name]
}

func (w watched) Field(name, _ string) any {
	w.asked["steps."+name] = true
	return "done"
}
