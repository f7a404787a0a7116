package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sparse has lists, maps and objects whose fields may be absent; %s is a step.
const sparse = `name: w
version: "1"
params:
  l: {type: array, items: {type: object, properties: {nm: {type: string}}}}
steps:
  - id: a
    call: llm.generate
    input_template: {task: x}
    success_schema:
      type: object
      required: [list, ok, m]
      properties:
        ok: {type: boolean}
        note: {type: string}
        other: {type: string}
        list: {type: array, items: {$ref: "#/$defs/it"}}
        ol: {type: array, items: {$ref: "#/$defs/it"}}
        may: {$ref: "#/$defs/it"}
        m: {type: object, additionalProperties: {$ref: "#/$defs/it"}}
        tuple: {type: array, prefixItems: [{$ref: "#/$defs/it"}, {type: integer}], items: false}
        rest: {type: array, prefixItems: [{type: integer}], items: {$ref: "#/$defs/it"}}
        nested: {type: array, items: {type: array, items: {$ref: "#/$defs/it"}}}
        "a-b": {type: string}
      $defs: {it: {type: object, required: [n], properties: {n: {type: integer}, nm: {type: string}}}}
    capture_as: a
  - %s
outputs: {all: "{{ a }}"}
`

// rendered is a step that renders an expression.
func rendered(when, expression string) string {
	if when != "" {
		when = fmt.Sprintf("when: %q, ", when)
	}
	return fmt.Sprintf("{id: p, %scall: flow.set, input_template: {value: %q}, capture_as: p}", when, "{{ "+expression+" }}")
}

// loop is a loop that reads nm of each item.
func loop(list string) string {
	return fmt.Sprintf("{id: p, foreach: %q, call: flow.set, input_template: {value: '{{ item.nm }}'}, capture_as: p}", list)
}

// A list or a map that is empty in one case has the items that it has in the other.
func TestEmptyLiteralsHideNothing(t *testing.T) {
	for step, fix := range map[string]string{
		rendered("", "map(a?.list ?? [], .nm)"): "#?.nm", rendered("", "map(a?.ol ?? [], #.nm)"): "#?.nm", rendered("", "(a?.ol ?? [])[0].nm"): "(…)[0]?.nm",
		rendered("", "let l1 = a?.ol ?? []; l1[0].nm"): "l1[0]?.nm", rendered("", "(a.ok ? a.list : [])[0].nm"): "(…)[0]?.nm", rendered("", "(a.ok ? [] : a.list)[-1].nm"): "(…)[-1]?.nm",
		rendered("", "(a?.may ?? {}).n"): "(…)?.n", rendered("", "(a.ok ? {} : a.list[0]).n"): "(…)?.n", rendered("", "(a.ok ? {n: 1} : {x: 2}).n"): "(…)?.n", rendered("", "[{x: 1}, {y: 2}][1].y"): "(…)[1]?.y",
		rendered("", "values(a.m)[0].nm"): "(…)[0]?.nm", rendered("", "map(values(a?.m ?? {}), .nm)"): "#?.nm", rendered("", "toPairs(a.m)[0][1].nm"): "(…)[0][1]?.nm", rendered("", "a.m[a?.note ?? ''].nm"): "a.m[a?.note ?? \"\"]?.nm",
		rendered("", "(a?.tuple ?? [])[0].nm"): "(…)[0]?.nm", rendered("", "(a?.rest ?? [])[1].nm"): "(…)[1]?.nm", rendered("", "map(filter(a?.rest ?? [], type(#) == 'map'), .nm)"): "#?.nm",
		rendered("", "concat(a?.ol ?? [], []) | map(.nm)"): "#?.nm", rendered("", "flatten(a?.nested ?? [])[0].nm"): "(…)[0]?.nm", rendered("", "flatten([a.list, []]) | map(.nm)"): "#?.nm",
		rendered("", "first(a?.ol ?? []).nm"): "(…)?.nm", rendered("", "sortBy(a?.ol ?? [], .nm)"): "#?.nm", rendered("", "reduce(a?.ol ?? [], #acc + .nm, '')"): "#?.nm", rendered("", "any(a?.ol ?? [], .nm == 'x')"): "#?.nm",
		rendered("", "map(params.l ?? [], .nm)"): "#?.nm", loop("{{ params.l ?? [] }}"): "item?.nm", loop("a?.ol ?? []"): "item?.nm", loop("a.ok ? a.list : []"): "item?.nm", loop("values(a?.m ?? {})"): "item?.nm",
	} {
		found := lines(report(t, fmt.Sprintf(sparse, step)))
		require.Len(t, found, 1, step)
		require.True(t, strings.HasPrefix(found[0], "error: ") && strings.HasSuffix(found[0], ": write "+fix), "%s: %s", step, found[0])
	}
	for _, step := range []string{
		rendered("", "map(a?.ol ?? [], #?.nm)"), rendered("", "map(a?.ol ?? [], .n)"), rendered("", "(a?.ol ?? [])[0].n"), rendered("", "(a?.may ?? {})?.n"), rendered("", "(a?.may ?? {n: 1}).n"), rendered("", "values(a.m)[0].n"),
		rendered("", "map([], .whatever)"), rendered("", "first([])?.x"), rendered("", "(a?.tuple ?? [])[0].n + (a?.tuple ?? [0, 1])[1]"), rendered("", "(a?.tuple ?? [])[5].x"),
		rendered("", "({})[a.ok ? 'x' : 'y'].x"), "{id: p, foreach: [], when: item, call: flow.set, input_template: {value: '{{ item.nm + 1 }}'}, capture_as: p}", loop("filter(a?.ol ?? [], #?.nm != nil)"),
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(sparse, step))), step)
	}
}

// A guard counts however it is written.
func TestGuardsOfOptionalFields(t *testing.T) {
	for _, expression := range []string{
		"'note' in keys(a) ? a.note : ''", "'note' not in keys(a) ? '' : a.note", "let k = keys(a); 'note' in k ? a.note : ''", "a?.['a-b'] != nil ? a['a-b'] : ''",
		"let n = a?.note; n != nil ? a.note : ''", "let n = a?.note; n == nil ? '' : a.note", "let n = a?.note ?? ''; n != '' ? a.note : ''", "let has = 'note' in a; has and a.note == 'x'", "let has = a?.note != nil; not has ? '' : a.note",
		"let b = a; b?.note != nil ? a.note : ''", "let b = a; a?.note != nil ? b.note : ''", "let b = a; let c = b; c?.note != nil ? b.note : ''",
		"any([a], #?.note != nil) ? a.note : ''", "all([a?.note, a?.other], # != nil) ? a.note + a.other : ''", "none([a?.note], # == nil) ? a.note : ''", "len(filter([a], #?.note != nil)) > 0 ? a.note : ''", "count([a?.note], # != nil) == 1 ? a.note : ''",
		"a?.note == nil ? '' : a.note", "if a?.note != nil { a.note } else { '' }", "if a?.note == nil { '' } else { a.note }", "not (a?.note == nil) and a.note == 'x'", "a?.note == nil or a.note == 'x'", "(a?.note != nil) == true ? a.note : ''",
		"(a?.note ?? '') matches '^x' ? a.note : ''", "string(a?.note) != 'null' ? a.note : ''", "trim(a?.note ?? '') != '' ? a.note : ''", "(a?.may ?? {})?.nm != nil ? a.may.nm : ''", "a.m[a.list[0].n]?.nm != nil ? a.m[a.list[0].n].nm : ''",
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(sparse, rendered("", expression)))), expression)
		if guard, read, isGuard := strings.Cut(expression, " ? a.note : ''"); isGuard && read == "" {
			require.Empty(t, lines(report(t, fmt.Sprintf(sparse, rendered(guard, "a.note")))), guard)
		}
	}
	for _, expression := range []string{
		"'other' in keys(a) ? a.note : ''", "'note' in keys(a.m) ? a.note : ''", "let n = a?.other; n != nil ? a.note : ''", "let n = a?.note; n == nil ? a.note : ''", "any([a], #?.other != nil) ? a.note : ''", "any([a?.note, 'x'], # != nil) ? a.note : ''",
		"a?.note != nil or a?.other != nil ? a.note : ''", "(a?.note ?? '') matches '^x?$' ? a.note : ''", "if a?.note == nil { a.note } else { '' }", "map(a.list, let n = #?.nm; len(filter(a.list, n != nil and #.nm == 'x')))",
	} {
		found := lines(report(t, fmt.Sprintf(sparse, rendered("", expression))))
		require.Len(t, found, 1, expression)
		require.Contains(t, found[0], "is optional and may be missing", expression)
	}
}

// Names that double each other cost no time.
func TestGuardsOfManyNames(t *testing.T) {
	expression := "let n0 = a?.note; "
	for k := range 25 {
		expression += fmt.Sprintf("let n%d = [n%d, n%d]; ", k+1, k, k)
	}
	found := lines(report(t, fmt.Sprintf(sparse, rendered("", expression+"n25 != nil ? a.note : ''"))))
	require.Len(t, found, 1)
}

// Advice is one for a read, however many of its members may be absent.
func TestAdviceOfOneRead(t *testing.T) {
	for expression, fix := range map[string]string{
		"a?.list[0].nm": "a?.list[0]?.nm", "a.list[-1].nm": "a.list[-1]?.nm", "a?.ol[0].nm": "a?.ol?.[0]?.nm", "a.ol[-1].nm": "a?.ol?.[-1]?.nm", "a.may.nm": "a?.may?.nm", "a['a-b']": "a?.[\"a-b\"]", "a.list[a.list[0].n].nm": "a.list[a.list[0].n]?.nm",
	} {
		found := lines(report(t, fmt.Sprintf(sparse, rendered("", expression))))
		require.Len(t, found, 1, expression)
		require.True(t, strings.HasSuffix(found[0], ": write "+fix), "%s: %s", expression, found[0])
	}
}

const conditions = `name: w
version: "1"
params: {go: {type: boolean, default: false}, n: {type: integer, default: 1}, list: {default: [1]}, mode: {enum: [fast, slow], default: fast}, open: {}}
steps:
  - {id: hi, when: params.go == true, call: far.open, capture_as: hi}
  - {id: plain, when: params.go, call: far.open, capture_as: plain}
  - {id: fast, when: params.mode == 'fast', call: far.open, capture_as: fast}
  - {id: pos, when: params.n > 0, call: far.open, capture_as: pos}
  - {id: slim, when: params.mode != 'slow', call: far.open, capture_as: slim}
  - {id: some, when: "len(params.list) > 0", call: far.open, capture_as: some}
  - {id: tried, call: far.open, capture_as: tried}
  - %s
outputs: {all: "{{ [hi, plain, fast, pos, slim, some, tried] }}"}
`

// A condition that says the same, or more, in other words keeps a read from being warned
// of.
func TestConditionsInOtherWords(t *testing.T) {
	for _, step := range []string{
		rendered("", "params.go == true ? hi.out : 0"), rendered("", "go ? hi.out : 0"), rendered("", "true == params.go ? hi.out : 0"), rendered("", "go != false ? hi.out : 0"), rendered("", "not (go == false) ? hi.out : 0"), rendered("", "go == false ? 0 : hi.out"),
		rendered("params.go == true", "hi.out"), rendered("go", "hi.out"), rendered("params.go == true", "plain.out"), rendered("!(!go)", "plain.out"), rendered("let g = params.go; g and n > 1", "plain.out"),
		rendered("", "let s1 = steps.hi.status; s1 == 'done' ? hi.out : 0"), rendered("", "let d = steps.hi.status == 'done'; d ? hi.out : 0"), rendered("", "let g = go; g ? hi.out : 0"), rendered("", "if go == true { hi.out } else { 0 }"),
		rendered("", "filter([], hi.out == #)"), rendered("", "map([], hi.out)"), rendered("", "map(hi?.list ?? [], hi.out)"), rendered("", "false and hi.x"), rendered("", "true ? 0 : hi.x"),
		rendered("'fast' == mode", "fast.x"), rendered("mode == 'fast'", "slim.x"), rendered("mode in ['fast']", "slim.x"), rendered("0 < n", "pos.x"), rendered("n > 5", "pos.x"), rendered("n >= 1", "pos.x"), rendered("n == 3", "pos.x"), rendered("not (n <= 0)", "pos.x"), rendered("n in [1, 2]", "pos.x"),
		rendered("len(list) != 0", "some.x"), rendered("len(params.list) >= 1", "some.x"), rendered("not (len(list) == 0)", "some.x"),
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(conditions, step))), step)
	}
	for _, step := range []string{
		rendered("not go", "hi.out"), rendered("go == false", "hi.out"), rendered("", "go ? 0 : hi.out"), rendered("", "let s1 = steps.fast.status; s1 == 'done' ? hi.out : 0"), rendered("", "filter(params.list, hi.out == #)"), rendered("", "let g = not go; g ? hi.out : 0"),
		rendered("mode == 'slow'", "slim.x"), rendered("mode in ['fast', 'slow']", "fast.x"), rendered("n > -1", "pos.x"), rendered("n < 5", "pos.x"), rendered("n in [0, 2]", "pos.x"), rendered("n != 3", "pos.x"), rendered("len(list) == 0", "some.x"), rendered("go or n > 1", "plain.x"),
	} {
		found := lines(report(t, fmt.Sprintf(conditions, step)))
		require.Len(t, found, 1, step)
		require.Contains(t, found[0], "may be skipped", step)
	}
}

// The error of a step is null unless the step failed, and the reason unless it was
// skipped.
func TestErrorOfAStepThatDidNotFail(t *testing.T) {
	for expression, fix := range map[string]string{
		"steps.tried.error.details": "steps.tried.error?.details", "steps.hi.error.code": "steps.hi.error?.code", "let e = steps.tried.error; e.code": "e?.code",
		"steps.tried.status != 'done' ? steps.tried.error.details : ''": "steps.tried.error?.details", "steps.tried.status in ['failed', 'skipped'] ? steps.tried.error.code : ''": "steps.tried.error?.code", "steps.hi.error != nil ? steps.tried.error.code : ''": "steps.tried.error?.code",
	} {
		found := lines(report(t, fmt.Sprintf(conditions, rendered("", expression))))
		require.Len(t, found, 1, expression)
		require.True(t, strings.HasPrefix(found[0], "warning: ") && strings.HasSuffix(found[0], "is null unless the step failed: write "+fix), "%s: %s", expression, found[0])
	}
	for _, step := range []string{
		rendered("", "steps.tried.error?.details"), rendered("steps.tried.status == 'failed'", "steps.tried.error.details"), rendered("", "steps.tried.status == 'failed' ? steps.tried.error.details : ''"), rendered("", "steps.tried.error == nil ? '' : steps.tried.error.code"),
		rendered("", "let e = steps.tried.error; e == nil ? '' : e.details"), rendered("", "(steps.tried.error ?? {code: ''}).code"), rendered("", "steps.tried.status in ['failed'] and steps.tried.error.code == 'X'"),
		"{id: p, join: done, when: \"'tried' in run.failed\", call: flow.set, input_template: {value: '{{ steps.tried.error.details }}'}, capture_as: p}",
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(conditions, step))), step)
	}
}

// A list that is written out may have members that cannot be; it is wrong where none
// can be.
func TestListsOfImpossibleMembers(t *testing.T) {
	for expression, severity := range map[string]string{
		"mode in ['fast', 'turbo']": "warning: mode is never equal to this", "mode in ['turbo', open]": "warning: mode is never equal to this", "n in [1, '2']": "warning: n is never equal to this", "mode not in ['fast', 'turbo']": "warning: mode is never equal to this",
		"mode in ['turbo']": "error: this is never true", "mode in ['turbo', 'warp']": "error: this is never true", "n in ['1', '2']": "error: this is never true", "mode not in ['turbo']": "warning: this is always true", "mode in {turbo: 1}": "error: this is never true",
		"'turbo' in [mode]": "error: this is never true", "5 in [1, 2]": "warning: this is never true", "mode in [n]": "error: this is never true", "steps.tried.status in ['ok', 'done']": "warning: steps.tried.status is never equal to this",
		"mode in ['fast', 'slow']": "", "'fast' in [mode, 'turbo']": "", "2 in [1, 2]": "", "mode in []": "", "mode in {fast: 1}": "", "open in ['x', 1]": "", "mode in open": "", "any(['fast', 'turbo'], # == mode)": "",
	} {
		found := lines(report(t, fmt.Sprintf(conditions, rendered("", expression))))
		if severity == "" {
			require.Empty(t, found, expression)
			continue
		}
		require.Len(t, found, 1, expression)
		require.True(t, strings.HasPrefix(found[0], severity), "%s: %s", expression, found[0])
	}
}

// A read that may be null is an operand only where something says that it is not.
func TestOperandsThatMayBeNull(t *testing.T) {
	const schema = `{type: object, required: [n, count, obj, any], properties: {n: {type: [string, "null"]}, o: {type: string}, ol: {type: array, items: {type: string}}, count: {type: [integer, "null"]}, flag: {type: boolean}, obj: {type: [object, "null"], required: [k], properties: {k: {type: string}}}, any: {anyOf: [{type: object, required: [k], properties: {k: {type: string}}}, {type: "null"}]}}}`
	for read, warned := range map[string]string{
		`a.n contains 'x'`:                      `the left side of contains must be a string, and a.n may be null: write (a.n ?? "")`,
		`(a.n ?? '') contains 'x'`:              "",
		`a.n != nil && a.n contains 'x'`:        "",
		`a.n == nil || a.n contains 'x'`:        "",
		`a.n ? a.n contains 'x' : false`:        "condition",
		`len(a?.ol) > 0`:                        `the argument of len must be a string or a list or an object, and a?.ol may be null`,
		`len(a?.ol ?? []) > 0`:                  "",
		`a?.ol != nil && len(a.ol) > 0`:         "",
		`a?.flag && a.n == 'x'`:                 `the left side of && must be a boolean, and a?.flag may be null ("flag" is optional`,
		`a.n == 'x' || a?.flag`:                 `: write (a?.flag ?? false)`,
		`not a?.flag`:                           `the operand of not must be a boolean, and a?.flag may be null`,
		`a?.flag ? 1 : 2`:                       `a condition must be a boolean, and a?.flag may be null`,
		`filter([1], a?.flag)`:                  `a predicate must be a boolean, and a?.flag may be null`,
		`a?.flag != nil && a?.flag`:             "",
		`a?.flag ?? false`:                      "",
		`'x' in a?.ol`:                          `the right side of in must be a list or an object, and a?.ol may be null`,
		`[1, 2][a.count]`:                       `an index or a key must be a number or a string, and a.count may be null`,
		`a?.obj.k`:                              `what has it may be null (the success_schema of step one): write a?.obj?.k`,
		`a?.obj?.k`:                             "",
		`a?.obj != nil ? a.obj.k : ''`:          "",
		`a?.any.k`:                              `: write a?.any?.k`,
		`a.count + 1 > 2`:                       `the left side of + must be a number or a string, and a.count may be null: write (a.count ?? 0)`,
		`a.count > 2`:                           `the left side of > must be a number or a string, and a.count may be null: write (a.count ?? 0)`,
		`steps.one.reason contains 'x'`:         `steps.one.reason may be null`,
		`(steps.one.reason ?? '') contains 'x'`: "",
		`steps.one.status == 'skipped' && steps.one.reason contains 'x'`: "",
	} {
		t.Run(read, func(t *testing.T) {
			found := strings.Join(lines(report(t, "name: w\nversion: '1'\nsteps:\n  - {id: one, call: llm.generate, input_template: {task: x}, capture_as: a, on_failure: continue, success_schema: "+schema+"}\n"+
				"  - {id: two, call: flow.set, join: done, deps: [one], when: \"{{ steps.one.status == 'done' }}\", input_template: {value: \"{{ "+read+" }}\"}}\n")), "\n")
			if warned == "" {
				require.NotContains(t, found, "may be null")
				return
			}
			require.Contains(t, found, warned)
		})
	}
}

// What decides or is looped over may not be null: the run would be blocked after all the work.
func TestConditionsThatMayBeNull(t *testing.T) {
	for step, warned := range map[string]string{
		`when: "a?.flag", call: flow.set, input_template: {value: 1}`:                                       "when must be a boolean, and a?.flag may be null",
		`foreach: [1], when: "a?.flag", call: flow.set, input_template: {value: "{{ item }}"}`:              "when must be a boolean, and a?.flag may be null",
		`when: params.b, call: flow.set, input_template: {value: 1}`:                                        "when must be a boolean, and params.b may be null: write (params.b ?? false)",
		`foreach: "a?.list", call: flow.set, input_template: {value: "{{ item }}"}`:                         "foreach must be a list, and a?.list may be null",
		`foreach: [1], parallel: "a?.n", call: llm.generate, input_template: {task: "{{ item }}"}`:          "parallel must be a number, and a?.n may be null",
		`call: flow.assert, input_template: {that: "{{ a?.flag }}", message: "{{ a?.flag }}"}`:              "that must be a boolean, and a?.flag may be null",
		`call: llm.generate, input_template: {that: "{{ a?.flag }}", task: x}`:                              "",
		`when: "(a?.flag ?? false)", call: flow.set, input_template: {value: 1}`:                            "",
		`when: "a?.flag != nil", call: flow.assert, input_template: {that: "{{ a?.flag }}", message: m}`:    "",
		`when: "a?.list != nil", foreach: "a?.list", call: flow.set, input_template: {value: "{{ item }}"}`: "",
		`when: params.given, call: flow.set, input_template: {value: 1}`:                                    "",
	} {
		found := strings.Join(lines(report(t, "name: w\nversion: '1'\nparams: {b: {type: boolean}, given: {type: boolean, default: true}}\nsteps:\n  - {id: one, call: llm.generate, input_template: {task: x}, capture_as: a, success_schema: "+
			"{type: object, properties: {flag: {type: boolean}, list: {type: array}, n: {type: integer}}}}\n  - {id: two, "+step+"}\n")), "\n")
		if warned == "" {
			require.NotContains(t, found, "may be null", step)
			continue
		}
		require.Contains(t, found, warned, step)
	}
}

const branches = `name: w
version: "1"
params: {k: {enum: [a, b, c], required: true}, x: {type: boolean, default: true}, y: {type: boolean, default: true}, n: {type: integer, default: 1}, open: {}}
steps:
  - {id: t, call: llm.generate, input_template: {task: x}, capture_as: t, success_schema: {type: object, required: [kind], properties: {kind: {enum: [p, q, r]}, may: {enum: [p, q]}}}}
  - {id: s1, when: '%s', call: far.open, capture_as: r1}
  - {id: s2, when: '%s', call: far.open, capture_as: r2}
  - {id: s3, when: '%s', call: far.open, capture_as: r3}
  - {id: z, call: llm.generate, input_template: {task: "{{ %s }}", of: "{{ [t, params] }}"}}
outputs: {all: "{{ [r1, r2, r3] }}"}
`

// Branches of which one runs in any case are joined without a warning, however many there
// are; where none may run, there is one.
func TestBranchesOfWhichOneRuns(t *testing.T) {
	const joined = "r1 ?? r2 ?? r3"
	for _, c := range [][4]string{
		{`params.k == "a"`, `k == "b"`, `"c" == params.k`, joined},
		{`params.k == "a"`, `k == "b"`, `"c" == params.k`, `k == 'a' ? r1 : k == 'b' ? r2 : r3`},
		{`params.k == "a"`, `k == "b"`, `k not in ["a", "b"]`, `r1?.x ?? r2?.x ?? r3.x`},
		{`params.k == "a"`, `k == "b" and x`, `k == "c" or k == "b" and not x`, joined},
		{`t.kind == "p"`, `t.kind == "q"`, `t.kind == "r"`, joined},
		{`t.kind == "p"`, `t.kind in ["q", "r"]`, `false`, "r1 ?? r2"},
		{`params.x`, `!params.x and y`, `!x and not y`, joined},
		{`params.n > 5`, `n <= 5 and n > 2`, `n <= 2`, joined},
		{`params.n > 2 and x`, `params.n <= 2 or !params.x`, `false`, "r1 ?? r2"},
	} {
		found := lines(report(t, fmt.Sprintf(branches, c[0], c[1], c[2], c[3])))
		require.Empty(t, slices.DeleteFunc(found, func(line string) bool { return !strings.Contains(line, "may be skipped") }), c)
	}
	for _, c := range [][4]string{
		{`params.k == "a"`, `k == "b"`, `false`, "r1 ?? r2"},
		{`params.k == "a"`, `k == "b" and x`, `k == "c"`, joined},
		{`t?.may == "p"`, `t?.may == "q"`, `false`, "r1 ?? r2"},
		{`params.open == "a"`, `params.open == "b"`, `params.open == "c"`, joined},
		{`params.x`, `!params.x and y`, `!x and n > 1`, joined},
		{`params.x or y`, `x and y`, `!x or n > 1`, `x ? r2 : r1`},
	} {
		found := lines(report(t, fmt.Sprintf(branches, c[0], c[1], c[2], c[3])))
		require.True(t, slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, "may be skipped") }), c)
	}
}
