package expression_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// seeds are sources of every shape; the fuzzer mixes them.
var seeds = []string{
	`params.p + 1`, `a?.b?.[l[0]] ?? {}`, `filter(l, .a > 1 and # != null) | map(.a)`, `reduce(l, #acc + #, "")`,
	`let x = a; x == 1 ? [x, {k: x}] : null`, `"é" + 'a' + ` + "`b`", `1..10`, `-1 ** 2 % 3 / 0.5`, `a matches "^a+$"`,
	`sortBy(l, #, "desc")`, `findLast(l, true)`, `if a {1} else {2}`, `a not in l`, `text[1:-1]`, `now()`, `$env`, `1 < 2 < 3`, `a ?: b`,
	`groupBy(l, #)`, `fromJSON(toJSON(a))`, `steps["s"].status`, `// c` + "\n1", `/* c */ 1`, `#`, `{{ a }}`, `::len(l)`, `b"x"`,
	`0x1f + 0b1 + 0o7 + 1e3`, `"\u00e9\x41\101"`, `a.b()`, `1;2`,
}

// checkError checks an error: its place is in the source, and its message is one short
// line that shows nothing of the inside.
func checkError(t *testing.T, source string, err error) {
	var failed *expression.Error
	require.True(t, errors.As(err, &failed), "%v", err)
	require.GreaterOrEqual(t, failed.Offset, 0)
	require.LessOrEqual(t, failed.Offset, len(source))
	require.NotContains(t, failed.Message, "\n")
	require.Less(t, len(failed.Message), 1000)
	require.NotContains(t, failed.Message, expression.NotCompiled, source)
	require.NotContains(t, failed.Message, expression.NotEvaluated, source)
	require.NotContains(t, failed.Message, "0xc0", "an address of the machine")
}

func FuzzCompile(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		program, err := expression.Compile(source, propertyScope())
		again, second := expression.Compile(source, propertyScope())
		if err != nil {
			checkError(t, source, err)
			require.Equal(t, err, second)
			return
		}
		require.Equal(t, program.References(), again.References())
		for _, reference := range program.References() {
			require.Less(t, reference.Offset, len(source))
		}
	})
}

func FuzzEval(f *testing.F) {
	for i, seed := range seeds {
		f.Add(seed, []string{`null`, `{"a":1,"b":{"b":[]}}`, `[1,"a",{"a":2}]`, `"aé"`, `2.0`}[i%5], `[1,2.5,"a",null,{"a":3}]`)
	}
	f.Fuzz(func(t *testing.T, source, a, l string) {
		program, err := expression.Compile(source, propertyScope())
		if err != nil {
			return
		}
		held := map[string]any{"p": 1}
		for name, text := range map[string]string{"a": a, "b": a, "l": l} {
			if held[name], err = jsonvalue.Decode([]byte(text)); err != nil {
				return
			}
		}
		value, err := program.Eval(envOf(held))
		again, second := program.Eval(envOf(reinserted(held).(map[string]any)))
		require.Equal(t, err, second)
		if err != nil {
			checkError(t, source, err)
			return
		}
		first, err := jsonvalue.Encode(value)
		require.NoError(t, err)
		encoded, err := jsonvalue.Encode(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(encoded))
		_, err = jsonvalue.Decode(first)
		require.NoError(t, err, "a result has to be readable again")
	})
}

func FuzzText(f *testing.F) {
	for _, seed := range seeds {
		f.Add("x {{ " + seed + " }} y {{ a }}")
		f.Add("{{" + seed + "}}")
	}
	held := map[string]any{"p": "{{ a }}", "a": map[string]any{"b": 1}, "b": nil, "l": []any{1}}
	f.Fuzz(func(t *testing.T, source string) {
		inner, offset := expression.Unwrap(source)
		require.Equal(t, inner, source[offset:offset+len(inner)])
		text, err := expression.CompileText(source, propertyScope())
		if err != nil {
			checkError(t, source, err)
			return
		}
		value, err := text.Render(envOf(held))
		again, second := text.Render(envOf(held))
		require.Equal(t, err, second)
		require.Equal(t, value, again)
		if err != nil {
			checkError(t, source, err)
			return
		}
		if parts, _ := text.Parts(); len(parts) == 0 {
			require.Equal(t, source, value)
		}
		if rendered, ok := value.(string); ok && utf8.ValidString(source) {
			require.True(t, utf8.ValidString(strings.ToValidUTF8(rendered, "")))
			require.LessOrEqual(t, len(rendered), len(source)+1<<20)
		}
	})
}
