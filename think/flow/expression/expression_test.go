package expression_test

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/test/golden"
	"savant/think/flow/expression"
)

var update = flag.Bool("update", false, "write the golden files anew")

// world is the environment that most tests use.
const world = `{
	"params": {"pr": 7, "name": "x", "limit": 2.0, "both": 1},
	"state": {
		"changed": {"files": ["main.go", "a.md", "b.go"], "count": 3, "name": "n"},
		"people": [{"name": "Bo", "age": 30}, {"name": "Al", "age": 25}, {"name": "Cy", "age": 30}],
		"matrix": [[1, 2], [3]],
		"object": {"b": 2, "a": 1, "c": 3},
		"empty": {"list": [], "object": {}},
		"text": "héllo", "big": 123456789012345678901234567890, "huge": 9223372036854775807,
		"lint-1": {"ok": true}, "both": 2, "skipped": null
	},
	"steps": {"build": "done", "lint-1": "failed"}
}`

func surroundings(t testing.TB) (expression.Scope, expression.Env) {
	decoded, err := jsonvalue.Decode([]byte(world))
	require.NoError(t, err)
	root := decoded.(map[string]any)
	params, state, steps := root["params"].(map[string]any), root["state"].(map[string]any), root["steps"].(map[string]any)
	scope := expression.Scope{
		Params:   expression.NamesOf(append(slices.Sorted(maps.Keys(params)), "unset")...),
		Captures: expression.NamesOf(slices.Sorted(maps.Keys(state))...),
		Steps:    expression.NamesOf(slices.Sorted(maps.Keys(steps))...),
		Item:     "file", Result: true,
	}
	return scope, expression.Env{
		Params: params,
		Steps:  left{captured(func(name string) any { return state[name] }), steps},
		Item:   "main.go",
		Loop:   map[string]any{"index": 0, "first": true, "last": false, "length": 3},
		Run:    map[string]any{"id": "r1", "workflow": "review", "version": "1.0"},
		Result: map[string]any{"items": []any{1, 2}},
	}
}

// eval returns the encoding of a value, or the error.
func eval(t testing.TB, source string) (string, error) {
	scope, env := surroundings(t)
	program, err := expression.Compile(source, scope)
	if err != nil {
		return "", err
	}
	value, err := program.Eval(env)
	if err != nil {
		return "", err
	}
	encoded, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return string(encoded), nil
}

func TestValues(t *testing.T) {
	for _, group := range []struct {
		name  string
		cases [][2]string // source, JSON
	}{
		{"names", [][2]string{
			{`params.pr`, `7`}, {`pr`, `7`}, {`file`, `"main.go"`}, {`changed.count`, `3`},
			{`state.changed.count`, `3`}, {`state["lint-1"].ok`, `true`}, {`params["pr"]`, `7`},
			{`steps.build.status`, `"done"`}, {`steps["lint-1"].status == "failed"`, `true`},
			{`loop.index`, `0`}, {`loop.length`, `3`}, {`run.id + run.workflow + run.version`, `"r1review1.0"`},
			{`result.items`, `[1,2]`}, {`params.unset`, `null`}, {`unset ?? "d"`, `"d"`},
			{`params.both + state.both`, `3`}, {`params`, `{"both":1,"limit":2,"name":"x","pr":7}`},
			{`params[file == "main.go" ? "pr" : "name"]`, `7`}, {`state?.changed.count`, `3`},
		}},
		{"soft reads", [][2]string{
			{`skipped?.x ?? 0`, `0`}, {`skipped ?? {}`, `{}`}, {`skipped?.x`, `null`}, {`skipped?.x.y.z`, `null`},
			{`changed?.missing ?? 1`, `1`}, {`changed?.files[0]`, `"main.go"`}, {`skipped?.files[0] ?? "-"`, `"-"`},
			{`skipped?.files[skipped.index]`, `null`}, {`skipped?.[skipped.x].y ?? 2`, `2`}, {`changed?.["count"]`, `3`},
			{`changed.files?.[9]`, `null`}, {`changed?.files[skipped?.x ?? 1]`, `"a.md"`},
			{`false ?? true`, `false`}, {`0 ?? 1`, `0`},
			{`skipped ?? skipped ?? 3`, `3`}, {`(true ? skipped : 1) ?? 4`, `4`},
		}},
		{"numbers", [][2]string{
			{`1 + 2`, `3`}, {`6 / 3`, `2`}, {`7 / 2`, `3.5`}, {`7 % 3`, `1`}, {`-7 % 3`, `-1`}, {`2 ** 10`, `1024`},
			{`2 ** -1`, `0.5`}, {`2 ^ 62`, `4611686018427387904`}, {`(-1) ** 9223372036854775807`, `-1`},
			{`1.5 + 1.5`, `3`}, {`0.1 + 0.2`, `0.30000000000000004`}, {`1e3`, `1000`}, {`-huge`, `-9223372036854775807`},
			{`huge / 1`, `9223372036854775807`}, {`huge / -1`, `-9223372036854775807`}, {`1_000`, `1000`},
			{`big`, `123456789012345678901234567890`}, {`big > huge`, `true`}, {`big == big`, `true`}, {`big > 1.5`, `true`},
			{`changed.files[limit]`, `"b.go"`}, {`limit % 2`, `0`}, {`1..limit`, `[1,2]`}, {`type(limit)`, `"int"`},
			{`3..1`, `[]`}, {`abs(-2)`, `2`}, {`abs(2.5)`, `2.5`}, {`ceil(1.2)`, `2`}, {`floor(-1.2)`, `-2`}, {`round(2.5)`, `3`},
			{`int(2.9)`, `2`}, {`int(" 12 ")`, `12`}, {`float("2.50")`, `2.5`}, {`float("2.0")`, `2`}, {`-5`, `-5`}, {`+5`, `5`},
			{`9007199254740993`, `9007199254740993`}, {`1e21`, `1e+21`}, {`1e20`, `100000000000000000000`}, {`-0.0`, `0`},
			{`3 - 1.5`, `1.5`}, {`-(1.5)`, `-1.5`}, {`0 * huge`, `0`}, {`2 ** 0.5 > 1.41`, `true`}, {`float(1.5)`, `1.5`}, {`min(1.5, huge)`, `1.5`},
		}},
		{"comparison", [][2]string{
			{`1 == 1.0`, `true`}, {`1 == "1"`, `false`}, {`null == false`, `false`}, {`nil == null`, `true`},
			{`[1, {a: 2.0}] == [1.0, {a: 2}]`, `true`}, {`{a: 1} == {a: 1, b: 2}`, `false`}, {`{a: 1} != {b: 1}`, `true`},
			{`9007199254740993 == 9007199254740992.0`, `false`}, {`"a" < "b"`, `true`}, {`1 < 1.5`, `true`},
			{`1 < 2 < 3`, `true`}, {`3 >= 3`, `true`}, {`2 <= 1`, `false`}, {`"B" < "a"`, `true`}, {`1e300 > huge`, `true`},
			{`true and not false`, `true`}, {`true || 1/0 == 1`, `true`}, {`false && 1/0 == 1`, `false`},
			{`"main.go" in changed.files`, `true`}, {`1.0 in [1]`, `true`}, {`"a" in object`, `true`}, {`"z" not in object`, `true`},
			{`[1] in [[1]]`, `true`}, {`true ? 1 : 1/0`, `1`}, {`if false {1} else {2}`, `2`}, {`true ?: false`, `true`},
		}},
		{"strings", [][2]string{
			{`"a" + 'b' + ` + "`c`", `"abc"`}, {`len(text)`, `5`}, {`text[1]`, `"é"`}, {`text[-1]`, `"o"`}, {`text[1:3]`, `"él"`},
			{`text[:2] + text[-2:]`, `"hélo"`}, {`text[4:2]`, `""`}, {`text[3:99]`, `"lo"`}, {`indexOf(text, "l")`, `2`},
			{`lastIndexOf(text, "l")`, `3`}, {`indexOf(text, "z")`, `-1`}, {`upper(text)`, `"HÉLLO"`}, {`lower("A")`, `"a"`},
			{`trim("  a ")`, `"a"`}, {`trim("xax", "x")`, `"a"`}, {`trimPrefix("abc", "a")`, `"bc"`}, {`trimSuffix("abc", "c")`, `"ab"`},
			{`split("a,b,c", ",")`, `["a","b","c"]`}, {`split("a,b,c", ",", 2)`, `["a","b,c"]`}, {`splitAfter("a,b", ",")`, `["a,","b"]`},
			{`split("é", "")`, `["é"]`}, {`join(["a", "b"], "-")`, `"a-b"`}, {`join([])`, `""`}, {`replace("aba", "a", "x")`, `"xbx"`},
			{`replace("aba", "a", "", 1)`, `"ba"`}, {`repeat("ab", 2)`, `"abab"`}, {`repeat("", 9999999)`, `""`},
			{`hasPrefix("abc", "a")`, `true`}, {`hasSuffix("abc", "a")`, `false`}, {`file endsWith ".go"`, `true`},
			{`file startsWith "x"`, `false`}, {`file contains "in"`, `true`}, {`file not contains "in"`, `false`},
			{`file matches "^m.*\\.go$"`, `true`}, {`filter(changed.files, # matches ("\\." + "md"))`, `["a.md"]`},
			{`string(1.50)`, `"1.5"`}, {`string([1, "a", null])`, `"[1,\"a\",null]"`}, {`string("a")`, `"a"`}, {`string(nil)`, `"null"`},
			{`string(limit)`, `"2"`}, {`"<&>"`, `"<&>"`},
		}},
		{"lists", [][2]string{
			{`changed.files[-1]`, `"b.go"`}, {`changed.files[1:]`, `["a.md","b.go"]`}, {`len(changed.files)`, `3`},
			{`all(people, .age > 20)`, `true`}, {`any(people, .age > 29)`, `true`}, {`none([], true)`, `true`}, {`one(people, .age == 25)`, `true`},
			{`filter(people, .age == 30) | map(.name)`, `["Bo","Cy"]`}, {`map(matrix, map(#, # * 2))`, `[[2,4],[6]]`},
			{`map(["a", "b"], #index)`, `[0,1]`}, {`count(people, .age == 30)`, `2`}, {`count([true, false])`, `1`},
			{`find(people, .age == 25).name`, `"Al"`}, {`find(people, false)`, `null`}, {`findIndex(people, .age == 25)`, `1`},
			{`findLast(people, .age == 30)?.name`, `"Cy"`}, {`findLastIndex(people, false)`, `null`}, {`findLast([], true)`, `null`},
			{`sortBy(people, .age) | map(.name)`, `["Al","Bo","Cy"]`}, {`sortBy(people, .age, "desc") | map(.name)`, `["Bo","Cy","Al"]`},
			{`sort([3, 1.5, 2])`, `[1.5,2,3]`}, {`sort(["b", "B", "a"], "desc")`, `["b","a","B"]`}, {`sort([])`, `[]`},
			{`groupBy(people, .age) | keys()`, `["25","30"]`}, {`groupBy([1, 2, 3], # > 1)`, `{"false":[1],"true":[2,3]}`},
			{`reduce(1..4, #acc + #, 10)`, `20`}, {`reduce(1..4, #acc * #)`, `24`}, {`map(matrix, reduce(#, #acc + #, len(#)))`, `[5,4]`},
			{`sum([1, 2.5])`, `3.5`}, {`sum(people, .age)`, `85`}, {`sum([])`, `0`}, {`mean([1, 2])`, `1.5`}, {`median([3, 1, 2])`, `2`},
			{`median([4, 1, 2, 3])`, `2.5`}, {`mean([])`, `null`}, {`min(3, [1, 2])`, `1`}, {`max([1, 2], 9)`, `9`}, {`min([])`, `null`},
			{`first(people).name`, `"Bo"`}, {`last([])`, `null`}, {`take(changed.files, 2)`, `["main.go","a.md"]`}, {`take([1], 5)`, `[1]`},
			{`reverse(1..3)`, `[3,2,1]`}, {`uniq([1, 1.0, "1", [1], [1]])`, `[1,"1",[1]]`}, {`concat([1], [], [2, 3])`, `[1,2,3]`},
			{`flatten([1, [2, [3, []]]])`, `[1,2,3]`}, {`map(people, {let n = .name; n + "!"})`, `["Bo!","Al!","Cy!"]`},
			{`map(people, let a = #.age; a + 1)`, `[31,26,31]`}, {`[]`, `[]`}, {`map([], #)`, `[]`},
		}},
		{"objects", [][2]string{
			{`keys(object)`, `["a","b","c"]`}, {`values(object)`, `[1,2,3]`}, {`toPairs(object)`, `[["a",1],["b",2],["c",3]]`},
			{`fromPairs(toPairs(object)) == object`, `true`}, {`fromPairs([["a", 1], ["a", 2]])`, `{"a":2}`}, {`{}`, `{}`},
			{`{a: 1, "b-c": {d: 2}, ("e" + "f"): 3}`, `{"a":1,"b-c":{"d":2},"ef":3}`}, {`{1: 2}`, `{"1":2}`}, {`len(object)`, `3`},
			{`toJSON({b: 1, a: [1.0, "<"]})`, `"{\"a\":[1,\"<\"],\"b\":1}"`}, {`fromJSON("{\"a\": [1, 2.5]}").a`, `[1,2.5]`},
			{`type(nil) + type(true) + type(1) + type(1.5) + type("") + type([]) + type({})`, `"nilboolintfloatstringarraymap"`},
			{`type(big)`, `"int"`}, {`let a = 1; let b = a + 1; a + b`, `3`}, {`let o = object; o.a + o?.b`, `3`},
		}},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				got, err := eval(t, c[0])
				require.NoError(t, err, c[0])
				require.Equal(t, c[1], got, c[0])
			}
		})
	}
}

// The virtual machine has a stack. A value that a function left on it would become an
// argument of the enclosing call.
func TestPredicateFunctionsLeaveNothingBehind(t *testing.T) {
	for _, source := range []string{
		`all([1, 2], # > 1)`, `all([1, 2], # > 0)`, `any([1, 2], # > 1)`, `any([1], # > 1)`, `none([1, 2], # > 1)`,
		`one([1, 2], # > 1)`, `filter([1, 2], # > 1)`, `map([1, 2], #)`, `count([1, 2], # > 1)`, `find([1, 2, 3], # > 1)`,
		`find([1], # > 1)`, `findIndex([1, 2, 3], # > 1)`, `findIndex([1], # > 1)`, `findLast([1, 2, 3], # < 3)`,
		`findLast([1, 2], # > 2)`, `findLastIndex([1, 2, 3], # < 2)`, `findLastIndex([1], # > 1)`, `reduce([1, 2], #acc + #)`,
		`reduce([1, 2], #acc + #, 1)`, `sum([1, 2], # * 2)`, `groupBy([1, 2], #)`, `sortBy([2, 1], #)`,
	} {
		alone, err := eval(t, source)
		require.NoError(t, err, source)
		among, err := eval(t, `[1, [`+source+`, len([`+source+`]), `+source+`], 2]`)
		require.NoError(t, err, source)
		require.Equal(t, `[1,[`+alone+`,1,`+alone+`],2]`, among)
		nested, err := eval(t, `map([1, 2], `+source+`)`)
		require.NoError(t, err, source)
		require.Equal(t, `[`+alone+`,`+alone+`]`, nested)
	}
}

// The results of one expression are the input of the next, after they were on
// disk: they have to be what decoding their encoding gives.
func TestValuesSurviveTheDisk(t *testing.T) {
	scope, env := surroundings(t)
	for _, source := range []string{
		`6 / 3`, `1e3`, `1e20`, `1e21`, `-1e20`, `0.5`, `round(1.2)`, `2 ** 0.5`, `mean([1, 3])`, `-0.0`, `float("1e19")`,
		`[1.0, {a: 4 / 2}]`, `map(people, .age / 5)`, `1..3`, `groupBy(people, .name)`,
	} {
		program, err := expression.Compile(source, scope)
		require.NoError(t, err, source)
		value, err := program.Eval(env)
		require.NoError(t, err, source)
		encoded, err := jsonvalue.Encode(value)
		require.NoError(t, err)
		decoded, err := jsonvalue.Decode(encoded)
		require.NoError(t, err)
		require.Equal(t, decoded, value, source)
	}
}

// TestErrors checks the code and the place of each error. The wording is in
// testdata/errors.golden.
func TestErrors(t *testing.T) {
	messages := map[string]string{}
	const expr, unresolved, ambiguous = fault.ExpressionError, fault.UnresolvedVar, fault.AmbiguousName
	for _, c := range []struct {
		source string
		code   fault.Code
		offset int
	}{
		// names
		{`state.chnged`, unresolved, 6},
		{`chnged.files`, unresolved, 0},
		{`params.prr`, unresolved, 7},
		{`params.changed`, unresolved, 7},
		{`state.lint_1`, unresolved, 6},
		{`lint_1.ok`, unresolved, 0},
		{`steps.biuld.status`, unresolved, 6},
		{`steps.build`, unresolved, 6},
		{`steps.build.output`, unresolved, 12},
		{`loop.indx`, unresolved, 5},
		{`run.now`, unresolved, 4},
		{`state`, unresolved, 0},
		{`state[file]`, unresolved, 0},
		{`1 + len(steps)`, unresolved, 8},
		{`both`, ambiguous, 0},
		{`$env`, unresolved, 0},
		{`$env["params"]`, unresolved, 0},
		{`True`, unresolved, 0},
		{`None`, unresolved, 0},
		{`len > 1`, unresolved, 0},
		{`map(people, weight_)`, unresolved, 12},
		{`"é" + missing_`, unresolved, 7},
		{`let changed = 1; 2`, ambiguous, 4},
		{`let file = 1; 2`, ambiguous, 4},
		{`let params = 1; 2`, ambiguous, 4},
		{`let $env = 1; 2`, ambiguous, 4},
		{`let len = 1; 2`, ambiguous, 4},
		{`let q = 1; let q = 2; q`, ambiguous, 15},

		// fields and indexes
		{`state.changed.fils`, expr, 14},
		{`changed.x ?? 0`, expr, 8},
		{`state.skipped.x ?? 0`, expr, 14},
		{`empty.object.a`, expr, 13},
		{`changed.files.length`, expr, 14},
		{`changed.files[3]`, expr, 13},
		{`changed.files[-4]`, expr, 13},
		{`changed.files["a"]`, expr, 13},
		{`changed.files[1.5]`, expr, 13},
		{`object[1]`, expr, 6},
		{`pr.x`, expr, 3},
		{`text.x`, expr, 5},
		{`text[5]`, expr, 4},
		{`map(people, .nme)`, expr, 13},
		{`map(people, #.nme)`, expr, 14},
		{`changed?.files[9]`, expr, 14},
		{`changed.files[0].a?.b`, expr, 17},
		{`changed[skipped.x]`, expr, 16},
		{`first([]).x`, expr, 10},
		{`null.x`, expr, 5},

		// types
		{`1 + "a"`, expr, 2},
		{`[1] + [2]`, expr, 4},
		{`1 - null`, expr, 2},
		{`1 < "a"`, expr, 2},
		{`null < 1`, expr, 5},
		{`[1] < [2]`, expr, 4},
		{`pr && true`, expr, 0},
		{`not null`, expr, 4},
		{`skipped ? 1 : 2`, expr, 0},
		{`filter(people, .age)`, expr, 16},
		{`filter(people, null)`, expr, 15},
		{`map(object, #)`, expr, 4},
		{`len(1)`, expr, 0},
		{`upper(1)`, expr, 0},
		{`take(1..3, "a")`, expr, 0},
		{`-text`, expr, 0},
		{`"a" in text`, expr, 4},
		{`"a" in null`, expr, 4},
		{`changed.files contains "a"`, expr, 14},
		{`null contains "a"`, expr, 5},
		{`pr matches "a"`, expr, 3},
		{`sort([1, "a"])`, expr, 0},
		{`sort([null])`, expr, 0},
		{`sortBy(people, .age, "up")`, expr, 0},
		{`groupBy(people, [.age])`, expr, 0},
		{`{(1): 2}`, expr, 2},
		{`fromPairs([[1, 2]])`, expr, 0},
		{`fromPairs([1])`, expr, 0},
		{`join([1])`, expr, 0},
		{`min("a")`, expr, 0},
		{`sum(people)`, expr, 0},
		{`reduce([], #acc + #)`, expr, 0},
		{`int("1.5")`, expr, 0},
		{`float("0x10")`, expr, 0},
		{`fromJSON("{a: 1}")`, expr, 0},
		{`fromJSON("1 2")`, expr, 0},
		{`take([1], -1)`, expr, 0},
		{`repeat("a", -1)`, expr, 0},
		{`fromPairs(1)`, expr, 0},
		{`trim("a", 1)`, expr, 0},
		{`abs("a")`, expr, 0},
		{`"a" ** 2`, expr, 4},
		{`sum([big])`, expr, 0},
		{`[1, 2] == [1, 2, 3] ? 1 : object["x"]`, expr, 32},
		{`matrix[0][file == "" ? 0 : 9]`, expr, 9},
		{`skipped[file]`, expr, 7},
		{`pr[skipped]`, expr, 2},
		{`pr[0:1]`, expr, 2},

		// numbers
		{`1 / 0`, expr, 2},
		{`1 / 0.0`, expr, 2},
		{`1 % 0`, expr, 2},
		{`1.5 % 1`, expr, 4},
		{`huge + 1`, expr, 5},
		{`-huge - 2`, expr, 6},
		{`huge * 2`, expr, 5},
		{`-(-huge - 1)`, expr, 0},
		{`abs(-huge - 1)`, expr, 0},
		{`sum([huge, 1])`, expr, 0},
		{`2 ** 63`, expr, 2},
		{`big + 1`, expr, 4},
		{`1e308 * 10`, expr, 6},
		{`(-8) ** 0.5`, expr, 5},
		{`9223372036854775808`, expr, 0},
		{`"é" + 0xffffffffffffffffff + 1`, expr, 7},
		{`1 + 1e999`, expr, 4},

		// what is not of the language
		{`now()`, expr, 0},
		{`date("2024-01-01")`, expr, 0},
		{`duration("1h")`, expr, 0},
		{`timezone("UTC")`, expr, 0},
		{`get(object, "a")`, expr, 0},
		{`toBase64("a")`, expr, 0},
		{`bitand(1, 2)`, expr, 0},
		{`lenn(text)`, expr, 0},
		{`::now()`, expr, 2},
		{`length(text)`, expr, 0},
		{`text.upper()`, expr, 5},
		{`object.a(1)`, expr, 7},
		{`list.size()`, expr, 5},
		{`"a" if true else "b"`, expr, 4},
		{`len()`, expr, 0},
		{`split("a")`, expr, 0},
		{`concat()`, expr, 0},
		{`filter(people, #index > 0)`, expr, 15},
		{`reduce(people, any(matrix, #acc), 0)`, expr, 27},
		{`map(people, #foo)`, expr, 12},
		{`b"abc"`, expr, 0},
		{`1; 2`, expr, 0},
		{`{a: 1, a: 2}`, expr, 7},
		{`file matches "["`, expr, 13},
		{`file matches "` + strings.Repeat("x", 300) + `"`, expr, 13},
		{`file matches "(x{1000}){1000}"`, expr, 13},
		{`file matches ("[" + "")`, expr, 5},

		// what cannot be read
		{``, expr, 0},
		{"  \n", expr, 0},
		{"a\xff", expr, 0},
		{`pr = 7`, expr, 3},
		{`pr === 7`, expr, 5},
		{`"abc`, expr, 4},
		{`"é" + (1`, expr, 8},
		{`1 +`, expr, 2},
		{`pr }}`, expr, 3},
		{`pr)`, expr, 2},
		{`{{ pr }} == 7`, expr, 1},
		{`filter(people, p => p.age)`, expr, 17},
		{`map(people, {n: .name})`, expr, 14},
		{`true AND false`, expr, 5},
		{`.name`, expr, 0},
		{`#`, expr, 0},
		{`skipped ?? 1 + 2`, expr, 13},
	} {
		_, err := eval(t, c.source)
		var failed *expression.Error
		require.ErrorAs(t, err, &failed, c.source)
		require.Equal(t, c.code, failed.Code, "%s: %s", c.source, failed)
		require.NotContains(t, failed.Message, "\n")
		require.Equal(t, c.offset, failed.Offset, "%s: %s", c.source, failed)
		require.True(t, errors.Is(err, c.code))
		require.NotContains(t, messages, c.source, "the case is there twice")
		messages[c.source] = failed.Message
	}
	golden.Messages(t, *update, "testdata/errors.golden", messages)
}

func TestResultAndLoopAreKnownOnlyWhereTheyAre(t *testing.T) {
	messages := map[string]string{}
	for _, source := range []string{"result", "loop.index"} {
		_, err := expression.Compile(source, expression.Scope{})
		var failed *expression.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, fault.UnresolvedVar, failed.Code)
		require.Zero(t, failed.Offset)
		messages[source] = failed.Message
	}
	golden.Messages(t, *update, "testdata/scopes.golden", messages)
}

func TestRootsCannotBeShadowed(t *testing.T) {
	scope := expression.Scope{Captures: expression.NamesOf("params", "run"), Params: expression.NamesOf("state"), Item: "file"}
	for source, want := range map[string]expression.Reference{
		"params":       {Root: "params"},
		"state.params": {Root: "state", Name: "params"},
		"params.state": {Root: "params", Name: "state"},
		"state.run":    {Root: "state", Name: "run"},
	} {
		program, err := expression.Compile(source, scope)
		require.NoError(t, err)
		require.Equal(t, []expression.Reference{want}, program.References())
	}
	_, err := expression.Compile("file", expression.Scope{Item: "file", Captures: expression.NamesOf("file")})
	require.ErrorIs(t, err, fault.AmbiguousName)
}

func TestReferences(t *testing.T) {
	scope, _ := surroundings(t)
	type ref = expression.Reference
	for source, want := range map[string][]ref{
		`1 + 2`:                                nil,
		`state.changed?.x ?? 0`:                {{"state", "changed", "", true, 0}},
		`state.changed ?? {}`:                  {{"state", "changed", "", true, 0}},
		`state.changed.x ?? 0`:                 {{"state", "changed", "", false, 0}},
		`state.changed.x?.y`:                   {{"state", "changed", "", false, 0}},
		`changed?.x`:                           {{"state", "changed", "", true, 0}},
		`changed?.[params.name]`:               {{"state", "changed", "", true, 0}, {"params", "name", "", false, 10}},
		`1 ?? changed`:                         {{"state", "changed", "", false, 5}},
		`skipped ?? changed ?? text`:           {{"state", "skipped", "", true, 0}, {"state", "changed", "", true, 11}, {"state", "text", "", false, 22}},
		`(true ? changed : text) ?? 1`:         {{"state", "changed", "", true, 8}, {"state", "text", "", true, 18}},
		`len(changed) ?? 1`:                    {{"state", "changed", "", false, 4}},
		`changed?.x == changed.y`:              {{"state", "changed", "", false, 14}},
		`pr + params.pr`:                       {{"params", "pr", "", false, 0}},
		`file + loop.index`:                    {{"item", "", "", false, 0}, {"loop", "index", "", false, 7}},
		`run.id`:                               {{"run", "id", "", false, 0}},
		`result.x`:                             {{"result", "", "", false, 0}},
		`params`:                               {{"params", "", "", false, 0}},
		`params[file]`:                         {{"params", "", "", false, 0}, {"item", "", "", false, 7}},
		`steps["lint-1"].status`:               {{"steps", "lint-1", "status", false, 0}},
		`let x = changed; x?.y ?? text`:        {{"state", "changed", "", false, 8}, {"state", "text", "", false, 25}},
		`map(people, .name + text)`:            {{"state", "people", "", false, 4}, {"state", "text", "", false, 20}},
		`"é" + text`:                           {{"state", "text", "", false, 7}},
		`1 < pr < 3`:                           {{"params", "pr", "", false, 4}},
		`sortBy(people, .name, params.name)`:   {{"state", "people", "", false, 7}, {"params", "name", "", false, 22}},
		`{(name): people, x: [changed[text]]}`: {{"params", "name", "", false, 2}, {"state", "people", "", false, 9}, {"state", "changed", "", false, 21}, {"state", "text", "", false, 29}},
	} {
		program, err := expression.Compile(source, scope)
		require.NoError(t, err, source)
		require.Equal(t, want, program.References(), source)
		require.Equal(t, source, program.Source())
	}
}

func TestNoBuiltinOfTheLibraryIsReachableUnlessListed(t *testing.T) {
	for _, name := range []string{
		"now", "date", "duration", "timezone", "get", "toBase64", "fromBase64",
		"bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot",
	} {
		require.NotContains(t, expression.Functions(), name)
		_, err := expression.Compile(name+`(1)`, expression.Scope{})
		require.ErrorIs(t, err, fault.ExpressionError, name)
		require.Contains(t, err.Error(), strconv.Quote(name), "the error is about another name")
	}
	require.True(t, slices.IsSorted(expression.Functions()))
}

func TestNumbersOfJSONAreNumbers(t *testing.T) {
	program, err := expression.Compile(`n == m && n > 1 && string(n) == "99999999999999999999"`, expression.Scope{Captures: expression.NamesOf("n", "m")})
	require.NoError(t, err)
	value, err := program.Eval(expression.Env{Steps: captured(func(string) any { return json.Number("99999999999999999999") })})
	require.NoError(t, err)
	require.Equal(t, true, value)
}

func TestEvalChangesNothing(t *testing.T) {
	scope, env := surroundings(t)
	for _, source := range []string{
		`sort(changed.files)`, `sortBy(people, .name)`, `reverse(people)`, `groupBy(people, .age)`, `concat(people, people)`,
		`take(people, 1)`, `people[0:1]`, `uniq(people)`, `flatten(matrix)`, `map(people, #)`, `median([3, 1, 2])`, `[people, object]`,
	} {
		program, err := expression.Compile(source, scope)
		require.NoError(t, err)
		value, err := program.Eval(env)
		require.NoError(t, err)
		if list, ok := value.([]any); ok {
			clear(list)
		}
		_, fresh := surroundings(t)
		for name := range scope.Captures {
			require.Equal(t, fresh.Steps.Capture(name), env.Steps.Capture(name), source)
		}
	}
}

func TestProgramsServeManyAtOnce(t *testing.T) {
	scope, env := surroundings(t)
	source := `sortBy(people, .age) | map(.name + file) | filter(# matches (name + "|A"))`
	program, err := expression.Compile(source, scope)
	require.NoError(t, err)
	want, err := program.Eval(env)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if _, err := expression.Compile(source, scope); err != nil {
					t.Error(err)
				}
				got, err := program.Eval(env)
				if err != nil || !slices.Equal(got.([]any), want.([]any)) {
					t.Error(got, err)
				}
			}
		})
	}
	all.Wait()
}

func TestSurroundingsThatPanicAreAnError(t *testing.T) {
	program, err := expression.Compile(`a`, expression.Scope{Captures: expression.NamesOf("a")})
	require.NoError(t, err)
	_, err = program.Eval(expression.Env{Steps: captured(func(string) any { panic("broken") })})
	require.ErrorIs(t, err, fault.ExpressionError)
}

// captured gives captures; each step is done.
type captured func(name string) any

func (c captured) Capture(name string) any { return c(name) }
func (captured) Field(string, string) any  { return "done" }

// left gives captures, and one value for all fields of a step.
type left struct {
	captured
	steps map[string]any
}

func (l left) Field(step, _ string) any { return l.steps[step] }
