package expression_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/golden"
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
	messages := map[string]string{}
	for name, source := range map[string]string{
		"parentheses":        strings.Repeat("(", 3_000_000),
		"nested parentheses": strings.Repeat("(", 1024),
		"source length":      strings.Repeat(" ", 1024) + "1",
		"nodes":              "1" + strings.Repeat("+1", 510),
		"shared comparisons": strings.Repeat("1<(", 150) + "1" + strings.Repeat(")<1", 150),
		"shared conditions":  strings.Repeat("(", 60) + "true" + strings.Repeat("?:true)", 60),
		"string by reduce":   `reduce(1..40, #acc + #acc, text)`,
		"strings by reduce":  `reduce(1..200, [#acc[0] + "x", #acc[1] + repeat("x", 100000)], ["", ""])`,
		"strings in a list":  `map(1..200, repeat("x", 1000000))`,
		"string by let":      doubling + "1",
		"repeat":             `repeat("xx", 9223372036854775807)`,
		"replace":            `replace(repeat("a", 10000), "a", repeat("b", 1000))`,
		"join":               `join(map(1..2000, ""), repeat("x", 1000))`,
		"encoding":           `toJSON(reduce(1..40, [#acc, #acc], 1))`,
		"encoded strings":    `toJSON(map(1..100, let s = repeat("x", 20000); s))`,
		"shared lists":       `reduce(1..40, [#acc, #acc], 1)`,
		"shared objects":     `reduce(1..40, ({a: #acc, b: #acc}), 1)`,
		"shared strings":     `let s = repeat("x", 1000000); map(1..100, s)`,
		"compared lists":     `reduce(1..40, [#acc, #acc], 1) == reduce(1..40, [#acc, #acc], 1)`,
		"flattened lists":    `flatten(reduce(1..40, [#acc, #acc], 1))`,
		"depth":              `reduce(1..300, [#acc], 1)`,
		"depth of equality":  `let d = reduce(1..300, [#acc], 1); d == [d]`,
		"list by reduce":     `reduce(1..40, concat(#acc, #acc), [1])`,
		"range":              `1..20001`,
		"overflowing range":  `-9223372036854775807..9223372036854775807`,
		"loops of values":    `let l = 1..300; map(l, map(l, 1))`,
		"split":              `split(repeat("a", 100000), "")`,
		"loops":              `let l = 1..300; all(l, all(l, all(l, true)))`,
		"loops of lists":     `map(1..300, map(1..300, map(1..300, 1)))`,
		"loops of literals":  `let l = 1..300; all(l, all(l, (` + strings.Repeat("null ?? ", 90) + `1) == 1))`,
		"scanned text":       `let s = repeat("x", 1000000); all(1..1000, s contains "y" == false)`,
		"indexed text":       `let s = repeat("x", 1000000); all(1..1000, s[-1] == "x")`,
		"trimmed text":       `trim(repeat("ä", 100000), repeat("ö", 100000) + "ä")`,
		"matched text":       `let s = repeat("x", 1000000); all(1..100, s matches "(x|y){50}z" == false)`,
		"patterns":           `all(1..1000, "a" matches ("b|" + string(#)) == false)`,
		"searched list":      `let l = 1..1000; all(l, -# not in l)`,
		"values of JSON":     `fromJSON("[" + repeat("1,", 30000) + "1]")`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := evalWith(source, repeated)
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, fault.ExpressionError)
			messages[name] = err.Error()
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "allocated bytes")
		})
	}
	golden.Messages(t, *update, "testdata/limits.golden", messages)
}

// repeated is a text of 16 characters.
const repeated = "0123456789abcdef"

func evalWith(source, text string) error {
	program, err := expression.Compile(source, expression.Scope{Captures: expression.NamesOf("text")})
	if err != nil {
		return err
	}
	_, err = program.Eval(expression.Env{Steps: captured(func(string) any { return text })})
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
		_, err = program.Eval(expression.Env{Steps: captured(func(string) any { return files })})
		require.NoError(t, err, source)
	}
}

// A value in the Env that package jsonvalue does not make is refused when an expression
// returns it.
func TestForeignValuesDoNotComeOut(t *testing.T) {
	program, err := expression.Compile(`text`, expression.Scope{Captures: expression.NamesOf("text")})
	require.NoError(t, err)
	for _, value := range []any{int64(1), []string{"a"}, struct{}{}, func() {}, map[string]int{}} {
		_, err = program.Eval(expression.Env{Steps: captured(func(string) any { return value })})
		require.ErrorIs(t, err, fault.ExpressionError)
	}
	program, err = expression.Compile(`text + 1`, expression.Scope{Captures: expression.NamesOf("text")})
	require.NoError(t, err)
	_, err = program.Eval(expression.Env{Steps: captured(func(string) any { return int64(1) })})
	require.ErrorIs(t, err, fault.ExpressionError)
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
