package expression_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/flow/expression"
)

// Sources that once took seconds or gigabytes, or ended the process, in expr-lang or in
// the functions built on it.
func TestCostIsBounded(t *testing.T) {
	doubling := "let a0 = text; "
	for i := range 20 {
		from, to := string(rune('a'+i)), string(rune('a'+i+1))
		doubling += "let " + to + "0 = " + from + "0 + " + from + "0; "
	}
	for name, c := range map[string]struct{ source, message string }{
		"parentheses":        {strings.Repeat("(", 3_000_000), "more than 1024 bytes"},
		"nested parentheses": {strings.Repeat("(", 1024), "ends too early"},
		"source length":      {strings.Repeat(" ", 1024) + "1", "more than 1024 bytes"},
		"nodes":              {"1" + strings.Repeat("+1", 510), "more than 1000 parts"},
		"shared comparisons": {strings.Repeat("1<(", 150) + "1" + strings.Repeat(")<1", 150), "more than 1000 parts"},
		"shared conditions":  {strings.Repeat("(", 60) + "true" + strings.Repeat("?:true)", 60), "more than 1000 parts"},
		"string by reduce":   {`reduce(1..40, #acc + #acc, text)`, "text of more than"},
		"strings by reduce":  {`reduce(1..200, [#acc[0] + "x", #acc[1] + repeat("x", 100000)], ["", ""])`, "text of more than"},
		"strings in a list":  {`map(1..200, repeat("x", 1000000))`, "texts of more than"},
		"string by let":      {doubling + "1", "text of more than"},
		"repeat":             {`repeat("xx", 9223372036854775807)`, "text of more than"},
		"replace":            {`replace(repeat("a", 10000), "a", repeat("b", 1000))`, "text of more than"},
		"join":               {`join(map(1..2000, ""), repeat("x", 1000))`, "text of more than"},
		"encoding":           {`toJSON(reduce(1..40, [#acc, #acc], 1))`, "too large"},
		"encoded strings":    {`toJSON(map(1..100, let s = repeat("x", 20000); s))`, "too large"},
		"shared lists":       {`reduce(1..40, [#acc, #acc], 1)`, "too large"},
		"shared objects":     {`reduce(1..40, ({a: #acc, b: #acc}), 1)`, "too large"},
		"shared strings":     {`let s = repeat("x", 1000000); map(1..100, s)`, "too large"},
		"compared lists":     {`reduce(1..40, [#acc, #acc], 1) == reduce(1..40, [#acc, #acc], 1)`, "more than 200000 steps"},
		"flattened lists":    {`flatten(reduce(1..40, [#acc, #acc], 1))`, "lists of more than 20000 items"},
		"depth":              {`reduce(1..300, [#acc], 1)`, "too deep"},
		"depth of equality":  {`let d = reduce(1..300, [#acc], 1); d == [d]`, "nested deeper"},
		"list by reduce":     {`reduce(1..40, concat(#acc, #acc), [1])`, "lists of more than 20000 items"},
		"range":              {`1..20001`, "lists of more than 20000 items"},
		"overflowing range":  {`-9223372036854775807..9223372036854775807`, "lists of more than 20000 items"},
		"loops of values":    {`let l = 1..300; map(l, map(l, 1))`, "lists of more than 20000 items"},
		"split":              {`split(repeat("a", 100000), "")`, "lists of more than 20000 items"},
		"loops":              {`let l = 1..300; all(l, all(l, all(l, true)))`, "more than 200000 steps"},
		"loops of lists":     {`map(1..300, map(1..300, map(1..300, 1)))`, "lists of more than 20000 items"},
		"loops of literals":  {`let l = 1..300; all(l, all(l, (` + strings.Repeat("null ?? ", 90) + `1) == 1))`, "more than 200000 steps"},
		"scanned text":       {`let s = repeat("x", 1000000); all(1..1000, s contains "y" == false)`, "more than 200000 steps"},
		"indexed text":       {`let s = repeat("x", 1000000); all(1..1000, s[-1] == "x")`, "more than 200000 steps"},
		"trimmed text":       {`trim(repeat("ä", 100000), repeat("ö", 100000) + "ä")`, "more than 200000 steps"},
		"matched text":       {`let s = repeat("x", 1000000); all(1..100, s matches "(x|y){50}z" == false)`, "more than 200000 steps"},
		"patterns":           {`all(1..1000, "a" matches ("b|" + string(#)) == false)`, "more than 200000 steps"},
		"searched list":      {`let l = 1..1000; all(l, -# not in l)`, "more than 200000 steps"},
		"values of JSON":     {`fromJSON("[" + repeat("1,", 30000) + "1]")`, "lists of more than 20000 items"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := evalWith(c.source, repeated)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, fault.ExpressionError)
			require.ErrorContains(t, err, c.message)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "allocated bytes")
		})
	}
}

// repeated is a text of 16 characters.
const repeated = "0123456789abcdef"

func evalWith(source, text string) error {
	program, err := expression.Compile(source, expression.Scope{Captures: expression.NamesOf("text")})
	if err != nil {
		return err
	}
	_, err = program.Eval(expression.Env{State: func(string) any { return text }})
	return err
}

// What workflows really do stays far from the limits.
func TestLimitsLeaveRoom(t *testing.T) {
	files := make([]any, 5000)
	for i := range files {
		files[i] = map[string]any{"name": "internal/server/handler.go", "size": i}
	}
	for _, source := range []string{
		`files | filter(.name endsWith ".go" && .size > 10) | map(.name) | uniq()`,
		`files | groupBy(.name) | keys()`,
		`files | sortBy(.size, "desc") | take(10) | map(.size)`,
		`toJSON(map(files, ({n: .name})))`,
		`sum(files, .size)`,
		`join(map(files, .name), "\n")`,
		`files`,
	} {
		program, err := expression.Compile(source, expression.Scope{Captures: expression.NamesOf("files")})
		require.NoError(t, err)
		_, err = program.Eval(expression.Env{State: func(string) any { return files }})
		require.NoError(t, err, source)
	}
}

// A value in the Env that package jsonvalue does not make is refused when an expression
// returns it.
func TestForeignValuesDoNotComeOut(t *testing.T) {
	program, err := expression.Compile(`text`, expression.Scope{Captures: expression.NamesOf("text")})
	require.NoError(t, err)
	for _, value := range []any{int64(1), []string{"a"}, struct{}{}, func() {}, map[string]int{}} {
		_, err = program.Eval(expression.Env{State: func(string) any { return value }})
		require.ErrorIs(t, err, fault.ExpressionError)
	}
	program, err = expression.Compile(`text + 1`, expression.Scope{Captures: expression.NamesOf("text")})
	require.NoError(t, err)
	_, err = program.Eval(expression.Env{State: func(string) any { return int64(1) }})
	require.ErrorContains(t, err, "found not a JSON value and integer")
}

// What an Env does not hold is null, as what was never given.
func TestEmptySurroundingsAreNull(t *testing.T) {
	program, err := expression.Compile(`[params.a, state.b, steps.c.status, file, loop.index, run.id, result, params]`, expression.Scope{
		Params: expression.NamesOf("a"), Captures: expression.NamesOf("b"), Steps: expression.NamesOf("c"), Item: "file", Result: true})
	require.NoError(t, err)
	value, err := program.Eval(expression.Env{})
	require.NoError(t, err)
	require.Equal(t, []any{nil, nil, nil, nil, nil, nil, nil, map[string]any{}}, value)
}
