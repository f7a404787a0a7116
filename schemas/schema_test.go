package schemas_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/test/golden"
)

// TestViolations checks where a value violates its schema. The wording is in
// testdata/violations.golden.
func TestViolations(t *testing.T) {
	cases := []struct {
		name, schema, value string
		pointers            []string
	}{
		{"type", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"x"}`, []string{"/a"}},
		{"types", `{"type":["string","null"]}`, `1.5`, []string{""}},
		{"required", `{"required":["a","b"],"properties":{"b":{"type":"string"}}}`, `{}`,
			[]string{"", ""}},
		{"additional", `{"properties":{"name":{}},"additionalProperties":false}`, `{"nmae":1,"zz":2,"name":3}`,
			[]string{"/nmae", "/zz"}},
		{"patterned", `{"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"x1":1,"y":2}`, []string{"/y"}},
		{"unevaluated", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`, []string{"/b"}},
		{"enum", `{"enum":["low","high",3]}`, `"hihg"`, []string{""}},
		{"const", `{"const":{"a":1}}`, `2`, []string{""}},
		{"bounds", `{"minimum":3,"multipleOf":2}`, `1`, []string{"", ""}},
		{"text", `{"minLength":2,"pattern":"^b"}`, `"a"`, []string{"", ""}},
		{"items", `{"items":{"type":"string"},"maxItems":1,"uniqueItems":true}`, `[1,1]`,
			[]string{"", "", "/0", "/1"}},
		{"contains", `{"contains":{"const":1}}`, `[2,3]`, []string{""}},
		{"not", `{"not":{"type":"null"}}`, `null`, []string{""}},
		{"false", `false`, `1`, []string{""}},
		{"names", `{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []string{"/ab"}},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{""}},
		{"either type", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`, []string{""}},
		{"the branch meant by type", `{"oneOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, []string{""}},
		{"the branch meant by kind",
			`{"oneOf":[{"properties":{"k":{"const":"x"}},"required":["p"]},{"properties":{"k":{"const":"y"}},"required":["q"]}]}`,
			`{"k":"y"}`, []string{""}},
		{"more than one", `{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, []string{""}},
		{"through references", `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"type":"null"}}}`, `[1]`, []string{"/0"}},
		{"odd names", `{"properties":{"a/b %~":{"type":"null"}}}`, `{"a/b %~":1}`, []string{"/a~1b %~0"}},
	}
	set, messages := load(t), map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			schema, err := set.Inline(value(t, c.schema))
			require.NoError(t, err)
			err = schema.Check(value(t, c.value))
			var pointers []string
			for _, each := range fault.From(err).Diagnostics {
				pointers = append(pointers, each.Pointer)
			}
			require.Equal(t, c.pointers, pointers)
			messages[c.name] = strings.Join(diagnostics(t, fault.ValidationFailed, err), "\n")
		})
	}
	golden.Messages(t, *update, "testdata/violations.golden", messages)
}

func TestDiagnosticsHoldExpectedAndActual(t *testing.T) {
	schema, err := load(t).Inline(value(t, `{"properties":{"n":{"type":"integer"}},"required":["m"]}`))
	require.NoError(t, err)
	found := fault.From(schema.Check(value(t, `{"n":"`+strings.Repeat("x", 1000)+`"}`)))
	require.Equal(t, `property "m"`, found.Diagnostics[0].Expected)
	require.Equal(t, "missing", found.Diagnostics[0].Actual)
	require.Contains(t, found.Diagnostics[0].Message, `"m"`)
	require.Equal(t, "integer", found.Diagnostics[1].Expected)
	require.LessOrEqual(t, len(found.Diagnostics[1].Actual), 120)
}

func TestEveryNumberOfTheDomainIsJudged(t *testing.T) {
	integer, err := load(t).Inline(value(t, `{"type":"integer","minimum":0}`))
	require.NoError(t, err)
	for _, fits := range []any{0, 9007199254740993, 3.0, json.Number("123456789012345678901234567890"), int64(5), uint8(1), json.Number("1e2")} {
		require.NoError(t, integer.Check(fits), "%T %v", fits, fits)
	}
	for _, not := range []any{1.5, -1, "1", nil, json.Number("-1e2"), math.NaN(), math.Inf(1), json.Number("1e100000000"), func() {}} {
		require.ErrorIs(t, integer.Check(not), fault.ValidationFailed, "%T %v", not, not)
	}
	list, err := load(t).Inline(value(t, `{"items":{"type":"string"}}`))
	require.NoError(t, err)
	require.NoError(t, list.Check([]string{"a"}), "other Go values are encoded first")
}

// doubling returns a schema whose definitions each name the next one twice.
func doubling(keyword string, levels int) string {
	var out strings.Builder
	out.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&out, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&out, `"d%d":{"type":"string"}}}`, levels)
	return out.String()
}

func TestSchemasThatMultiplyAreRefused(t *testing.T) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		_, err := load(t).Inline(value(t, doubling(keyword, 20)))
		require.ErrorIs(t, err, fault.YAMLSchemaViolation)
		require.ErrorContains(t, err, "5000", "the limit")
		_, err = load(t).Inline(value(t, doubling(keyword, 6)))
		require.NoError(t, err)
	}
	many := map[string]any{}
	for i := range 5000 {
		many[fmt.Sprint(i)] = map[string]any{"const": i}
	}
	_, err := load(t).Inline(map[string]any{"properties": many})
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "4000", "the limit")
	_, err = load(t).Inline(strings.Repeat("x", 600<<10))
	require.ErrorIs(t, err, fault.YAMLSchemaViolation)
	require.ErrorContains(t, err, "512 KB", "the limit")
}

func nested(depth int) any {
	inner := map[string]any{}
	for range depth {
		inner = map[string]any{"child": inner}
	}
	return inner
}

func TestValuesThatMultiplyAreRefused(t *testing.T) {
	branch := `{"properties":{"child":{"$ref":"#"}}}`
	schema, err := load(t).Inline(value(t, `{"anyOf":[`+branch+`,`+branch+`,{"type":"null"}]}`))
	require.NoError(t, err)
	require.NoError(t, schema.Check(nested(5)))
	require.ErrorIs(t, schema.Check(nested(40)), fault.LimitExceeded)

	set := load(t, "Heavy.json", doubling("allOf", 10))
	heavy, err := set.Inline(value(t, `{"items":{"$ref":"Heavy"}}`))
	require.NoError(t, err)
	require.NoError(t, heavy.Check([]any{"a", "b"}))
	texts := make([]any, 1000)
	for i := range texts {
		texts[i] = "x"
	}
	require.ErrorIs(t, heavy.Check(texts), fault.LimitExceeded, "2,000 judgements for each of 1,000 values")

	tree, err := load(t).Inline(value(t, `{"properties":{"l":{"$ref":"#"},"r":{"$ref":"#"}},"additionalProperties":false}`))
	require.NoError(t, err)
	var grow func(int) any
	grow = func(depth int) any {
		if depth == 0 {
			return map[string]any{}
		}
		return map[string]any{"l": grow(depth - 1), "r": grow(depth - 1)}
	}
	require.NoError(t, tree.Check(grow(13)), "recursion that does not multiply is not refused")
}

func TestBigListsAreNotRefused(t *testing.T) {
	schema, err := load(t).Inline(value(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}`))
	require.NoError(t, err)
	list := make([]any, 20_000)
	for i := range list {
		list[i] = map[string]any{"a": i, "b": nil}
	}
	require.NoError(t, schema.Check(list))
}

func TestCheckIsDeterministicAndChangesNothing(t *testing.T) {
	set := load(t, "Node.json", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"anyOf":[{"type":"string"},{"$ref":"Node"}]},
		"c":{"type":"array","items":{"$ref":"Node"},"uniqueItems":true}},"required":["a"],"additionalProperties":false}`)
	schema, err := set.Lookup("Node")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		given := anyJSON(4).Draw(t, "value")
		before, err := jsonvalue.Encode(given)
		require.NoError(t, err)
		first := wire(t, schema.Check(given))
		for range 3 {
			require.Equal(t, first, wire(t, schema.Check(given)))
		}
		after, err := jsonvalue.Encode(given)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	})
}

func wire(t require.TestingT, err error) string {
	data, fail := json.Marshal(fault.From(err))
	require.NoError(t, fail)
	return string(data)
}

func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.IntRange(-2, 2), func(i int) any { return i }),
		rapid.Map(rapid.StringN(0, 3, 6), func(s string) any { return s }), rapid.Just[any](1.5))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 3), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), anyJSON(depth-1), 0, 4),
			func(v map[string]any) any { return v }))
}

func TestNormalise(t *testing.T) {
	cases := []struct{ given, want any }{
		{"  text \n", "text"},
		{` {"a": 9007199254740993} `, map[string]any{"a": 9007199254740993}},
		{"```json\n[1]\n```", []any{1}},
		{"```\n{}\n```", map[string]any{}},
		{"```go\nfunc main() {}\n```", "```go\nfunc main() {}\n```"},
		{"[see below] and more", "[see below] and more"},
		{"42", "42"},
		{"null", "null"},
		{`{"a":1} {"b":2}`, `{"a":1} {"b":2}`},
		{nil, nil},
		{map[string]any{"a": " {} "}, map[string]any{"a": " {} "}},
	}
	for _, c := range cases {
		require.Equal(t, c.want, schemas.Normalise(c.given))
	}
}

// FuzzInlineCheck shows that no pair of schema and value, once decoded, makes
// the validator panic, hang or say INTERNAL.
func FuzzInlineCheck(f *testing.F) {
	f.Add(`{"type":"integer","minimum":3}`, `2`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"oneOf":[{"$ref":"#"},true]}}}`, `{}`)
	f.Add(`{"$ref":"A#/x","unevaluatedItems":{"$ref":"#"}}`, `[[],[1e300]]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"dependencies":{"a":["b"],"c":{}}}`, `{"a":1}`)
	f.Add(`{"patternProperties":{"a|b":{"format":"uri"}},"additionalProperties":false}`, `{"a":"x"}`)
	f.Add(doubling("allOf", 12), `"x"`)
	set, err := schemas.Load(layer("A.json", `{"x":{"type":"string"}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, schemaText, valueText string) {
		decoded, err := jsonvalue.Decode([]byte(schemaText))
		if err != nil {
			return
		}
		given, err := jsonvalue.Decode([]byte(valueText))
		if err != nil {
			return
		}
		schema, err := set.Inline(decoded)
		require.NotErrorIs(t, err, fault.Internal)
		if err == nil {
			require.NotErrorIs(t, schema.Check(given), fault.Internal)
		}
	})
}

// A value that holds a million others is judged, a larger one is not: if none
// of its values fitted, saying so would fill the memory.
func TestTooManyValues(t *testing.T) {
	list, err := load(t).Inline(map[string]any{"type": "array"})
	require.NoError(t, err)
	most := make([]any, 999_999)
	require.NoError(t, list.Check(most))
	require.ErrorIs(t, list.Check(append(most, nil)), fault.LimitExceeded)
}

// TestReferencesInCircles: a schema of somebody else, whose alternatives lead back to it, ends
// the search for what a text stands for.
func TestReferencesInCircles(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		circles := strings.Repeat(`{"$ref":"#/$defs/x"},`, 40)
		written := `{"$defs":{"x":{"` + keyword + `":[` + circles + `{"type":"integer"}]}},"$ref":"#/$defs/x"}`
		meant, differs := schemas.ConvertBy([]byte(written), "5")
		require.False(t, differs)
		require.Equal(t, "5", meant)
	}
}
