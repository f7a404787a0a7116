package cases_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/cases"
)

// sound is a cases file without a mistake; a mistake replaces a text of it that occurs once.
const sound = `workflow: main
cases:
  - name: one
    params: {version: 1.4.0}
    answers:
      status: {clean: true}
      look: [a, b]
      fix/patch: [{ok: true}]
      try: {attempts: [1, 2]}
      each/patch: [[{ok: false}, {ok: true}]]
      approve: {approved: true}
    expect:
      outcome: done
      ran: [status, look_0, fix_0/patch, clean]
      skipped: {never: when}
      failed: {call: TOOL_FAILED}
      issued: {look_1: {n: 2}, tag: {name: "/^v/"}}
      asked: [approve]
      outputs: {tagged: 1}
      captures: {tree: "{{ value.clean }}", fix_1/patched: 5}
      rounds: {fix: 2}
      summary: /Released/
  - name: two
    params: {flag: yes}
    answers: {look_1: b, fix_2/patch: {ok: true}, each_1_0/patch: 1}
    expect: {outcome: failed, failed: clean, outputs: none}
coverage:
  ignore:
    - {step: never, kind: done, why: because}
    - {step: fix/patch, kind: done, why: tested elsewhere}
`

const tested = `
params: {version: {type: string}, flag: {type: boolean}}
steps:
  - {id: status, call: git.status, capture_as: tree}
  - {id: clean, call: flow.assert, input_template: {that: "{{ tree.clean }}", message: dirty}}
  - {id: never, when: "false", call: tool.never}
  - {id: look, foreach: "[1, 2]", as: n, call: tool.look, input_template: {n: "{{ n }}"}}
  - {id: try, call: llm.generate, input_template: {task: t}}
  - {id: fix, call: flow.run, repeat: {until: "result.ok", max: 3}, input_template: {workflow: fixing}}
  - {id: each, foreach: "['a']", as: x, call: flow.run, repeat: {until: "result.ok", max: 3}, input_template: {workflow: fixing}}
  - {id: call, call: tool.call, on_failure: continue}
  - {id: approve, call: human.approve, input_template: {message: "Release?"}}
  - {id: tag, call: git.tag, input_template: {name: "v{{ params.version }}"}, capture_as: tagged}
outputs: {tagged: "{{ tagged }}"}
summary: "Released"
`

const fixing = "\nsteps:\n  - {id: patch, call: tool.patch, capture_as: patched}\noutputs: {ok: \"{{ patched.ok }}\"}\n"

// mistakes are the text, what stands in its place, the line that is told, and what is said.
var mistakes = []struct {
	text, instead string
	line          int
	says          string
}{
	// YAML.
	{"workflow: main", "workflow: main\nworkflow: other", 2, "duplicate key"},
	{"name: one", "name: *one", 3, "aliases"},
	{"name: one", "name: &a one", 3, "anchors"},
	{"name: one", "name: !x one", 3, "tag"},
	{"name: one", "name: one\n    name: again", 4, "duplicate key"},
	{"status: {clean: true}", "status: {clean: true", 0, ""},
	{"{version: 1.4.0}", "{version: {{ a }}}", 4, "quotes"},
	{"params: {flag: yes}", "params: {flag: .inf}", 24, "not a JSON number"},
	// The keys of the file.
	{"workflow: main", "workflw: main", 1, `did you mean "workflow"?`},
	{"workflow: main", "workflow: 5", 1, "not a text"},
	{"workflow: main", "workflow: ''", 1, "not a text"},
	{"workflow: main\n", "", 1, "workflow is missing"},
	{"cases:", "case:", 2, `did you mean "cases"?`},
	{"coverage:", "coverge:", 27, `did you mean "coverage"?`},
	{"coverage:\n  ignore:", "coverage:\n  ignored:", 28, `did you mean "ignore"?`},
	{"coverage:\n  ignore:", "covered: 1\ncoverage:\n  ignore:", 27, `"covered"`},
	// The keys of a case.
	{"name: one", "nam: one", 3, `did you mean "name"?`},
	{"name: one", "name: [one]", 3, "not a text"},
	{"name: one", "name: ''", 3, "not a text"},
	{"name: one", "name: 5", 3, "not a text"},
	{"name: two", "name: one", 23, "another case has this name"},
	{"- name: two\n    params", "- params", 23, "name is missing"},
	{"- name: one", "- 5\n  - name: one", 3, "is not a map"},
	{"- name: one", "- text\n  - name: one", 3, "a map with name, params, answers, calls, expect"},
	{"params: {version: 1.4.0}", "parms: {version: 1.4.0}", 4, `did you mean "params"?`},
	{"params: {version: 1.4.0}", "params: [1.4.0]", 4, "is not a map"},
	{"params: {version: 1.4.0}", "params: 5", 4, "is not a map"},
	{"answers:\n", "answer:\n", 5, `did you mean "answers"?`},
	{"answers: {look_1: b, fix_2/patch: {ok: true}, each_1_0/patch: 1}", "answers: [1]", 25, "is not a map"},
	{"expect:\n", "expects:\n", 12, `did you mean "expect"?`},
	{"expect: {outcome: failed, failed: clean, outputs: none}", "expect: failed", 26, "is not a map"},
	{"    expect: {outcome: failed, failed: clean, outputs: none}\n", "", 23, "has no expect"},
	{"name: two", "name: two\n    when: later", 24, `"when"`},
	{"name: two", "name: two\n    description: why", 24, `"description"`},
	// Parameters.
	{"{version: 1.4.0}", "{versoin: 1.4.0}", 4, `did you mean "version"?`},
	{"{version: 1.4.0}", "{other: 1}", 4, `no parameter is named "other"`},
	{"{flag: yes}", "{flg: yes}", 24, `did you mean "flag"?`},
	{"{flag: yes}", "{flag: yes, more: 1}", 24, `"more"`},
	// Answers.
	{"      status: {clean: true}", "      statsu: {clean: true}", 6, `did you mean "status"?`},
	{"      status: {clean: true}", "      git.status: {clean: true}", 6, `no step is named "git.status"`},
	{"      status: {clean: true}", "      status: [1]", 6, "write {value: […]}"},
	{"      status: {clean: true}", "      status_0: {clean: true}", 6, `no step is named "status_0"`},
	{"      status: {clean: true}", "      clean: true", 6, "flow.assert by itself"},
	{"{call: TOOL_FAILED}", "{call: TOOL_FAILD}", 16, `did you mean "TOOL_FAILED"?`},
	{"{call: TOOL_FAILED}", "{call: UNKNOWN_TOOL}", 16, `no code is named "UNKNOWN_TOOL"`},
	{"{call: TOOL_FAILED}", "{call: true}", 16, "not a text"},
	{"{never: when}", "{never: whn}", 15, `did you mean "when"?`},
	{"{never: when}", "{never: 'upstream_faild:clean'}", 15, `did you mean "upstream_failed:"?`},
	{"{never: when}", "{never: 'upstream_failed:clen'}", 15, `did you mean "clean"?`},
	{"      look: [a, b]", "      lok: [a, b]", 7, `did you mean "look"?`},
	{"      look: [a, b]", "      look: a", 7, "expected a list by index"},
	{"      look: [a, b]", "      look: {0: a}", 7, "expected a list by index"},
	{"      look: [a, b]", "      look: [[a], b]", 7, "write {value: […]}"},
	{"      look: [a, b]", "      look_01: a", 7, `no step is named "look_01"`},
	{"      look: [a, b]", "      look_0_1: a", 7, `no step is named "look_0_1"`},
	{"      look: [a, b]", "      look-1: a", 7, `no step is named "look-1"`},
	{"      fix/patch: [{ok: true}]", "      fix/ptch: [{ok: true}]", 8, `did you mean "fix/patch"?`},
	{"      fix/patch: [{ok: true}]", "      fx/patch: [{ok: true}]", 8, `did you mean "fix/patch"?`},
	{"      fix/patch: [{ok: true}]", "      fix/patch: {ok: true}", 8, "once for each item or round"},
	{"      fix/patch: [{ok: true}]", "      fix: [{ok: true}]", 8, "flow.run by itself"},
	{"      fix/patch: [{ok: true}]", "      patch: [{ok: true}]", 8, `no step is named "patch"`},
	{"      fix/patch: [{ok: true}]", "      fix/patch/x: 1", 8, `no step is named "fix/patch/x"`},
	{"      fix/patch: [{ok: true}]", "      fix_0_1/patch: 1", 8, `no step is named "fix_0_1/patch"`},
	{"      fix/patch: [{ok: true}]", "      look/patch: [1]", 8, `no step is named "look/patch"`},
	{"      fix/patch: [{ok: true}]", "      fix/patch_0: 1", 8, `no step is named "fix/patch_0"`},
	{"      try: {attempts: [1, 2]}", "      trye: {attempts: [1, 2]}", 9, `did you mean "try"?`},
	{"      try: {attempts: [1, 2]}", "      try: [1, 2]", 9, "write {value: […]}"},
	{"[[{ok: false}, {ok: true}]]", "[{ok: false}]", 10, "once for each item or round"},
	{"[[{ok: false}, {ok: true}]]", "[[[1]]]", 10, "write {value: […]}"},
	{"      approve: {approved: true}", "      aprove: {approved: true}", 11, `did you mean "approve"?`},
	{"{look_1: b,", "{look_x: b,", 25, `no step is named "look_x"`},
	{"fix_2/patch: {ok: true}", "fix_2/patch: [1]", 25, "write {value: […]}"},
	{"each_1_0/patch: 1", "each_1_0_2/patch: 1", 25, `no step is named "each_1_0_2/patch"`},
	{"each_1_0/patch: 1", "echa_1_0/patch: 1", 25, `no step is named "echa_1_0/patch"`},
	// Expectations.
	{"      outcome: done", "      outcom: done", 13, `did you mean "outcome"?`},
	{"      outcome: done", "      outcome: doen", 13, `did you mean "done"?`},
	{"      outcome: done", "      outcome: true", 13, `no outcome is named "true"`},
	{"      outcome: done", "      outcome: [done]", 13, "no outcome is named"},
	{"      ran: [status,", "      run: [status,", 14, `no key is named "run"`},
	{"ran: [status,", "ran: [statsu,", 14, `did you mean "status"?`},
	{"ran: [status,", "ran: [5,", 14, "is not the id of a step"},
	{"ran: [status, look_0, fix_0/patch, clean]", "ran: 5", 14, "names no steps"},
	{"ran: [status, look_0, fix_0/patch, clean]", "ran: statsu", 14, `did you mean "status"?`},
	{"look_0, fix_0/patch", "look_0, fix_0/pach", 14, `no step is named "fix_0/pach"`},
	{"skipped: {never: when}", "skiped: {never: when}", 15, `did you mean "skipped"?`},
	{"skipped: {never: when}", "skipped: {nevr: when}", 15, `did you mean "never"?`},
	{"skipped: {never: when}", "skipped: true", 15, "names no steps"},
	{"skipped: {never: when}", `skipped: {never: "/(/"}`, 15, "the pattern is not valid"},
	{"failed: {call:", "failed: {cal:", 16, `did you mean "call"?`},
	{"failed: {call:", "fails: {call:", 16, `no key is named "fails"`},
	{"failed: clean", "failed: claen", 26, `did you mean "clean"?`},
	{"issued: {look_1:", "issued: {lok_1:", 17, `no step is named "lok_1"`},
	{"issued: {look_1:", "isued: {look_1:", 17, `did you mean "issued"?`},
	{`{name: "/^v/"}`, `{name: "/[/"}`, 17, "the pattern is not valid"},
	{`{name: "/^v/"}`, `{name: "{{ valu }}"}`, 17, "valu"},
	{"asked: [approve]", "asked: [aprove]", 18, `did you mean "approve"?`},
	{"asked: [approve]", "askd: [approve]", 18, `did you mean "asked"?`},
	{"asked: [approve]", "asked: [[approve]]", 18, "is not the id of a step"},
	{"outputs: {tagged: 1}", "outputs: {taged: 1}", 19, `did you mean "tagged"?`},
	{"outputs: {tagged: 1}", "output: {tagged: 1}", 19, `did you mean "outputs"?`},
	{"outputs: {tagged: 1}", "outputs: [tagged]", 19, "is not a map, and not none"},
	{"outputs: {tagged: 1}", `outputs: {tagged: "{{ value > }}"}`, 19, ""},
	{"outputs: none", "outputs: nothing", 26, "is not a map, and not none"},
	{"captures: {tree:", "captures: {tre:", 20, `did you mean "tree"?`},
	{"captures: {tree:", "capture: {tree:", 20, `did you mean "captures"?`},
	{"fix_1/patched: 5", "fix_1/ptched: 5", 20, `no capture is named "fix_1/ptched"`},
	{`captures: {tree: "{{ value.clean }}", fix_1/patched: 5}`, "captures: [tree]", 20, "is not a map"},
	{"{{ value.clean }}", "{{ valeu.clean }}", 20, "valeu"},
	{"{{ value.clean }}", "{{ params.versoin }}", 20, "versoin"},
	{"{{ value.clean }}", "{{ state.tre }}", 20, "tre"},
	{"rounds: {fix: 2}", "rounds: {fx: 2}", 21, `did you mean "fix"?`},
	{"rounds: {fix: 2}", "round: {fix: 2}", 21, `did you mean "rounds"?`},
	{"rounds: {fix: 2}", "rounds: 2", 21, "is not a map"},
	{"summary: /Released/", "summry: /Released/", 22, `did you mean "summary"?`},
	{"summary: /Released/", "summary: 5", 22, "is not a text"},
	{"summary: /Released/", "summary: /Rele(ased/", 22, "the pattern is not valid"},
	// Coverage.
	{"{step: never, kind", "{step: nevr, kind", 29, `did you mean "never"?`},
	{"{step: never, kind", "{stp: never, kind", 29, `did you mean "step"?`},
	{"{step: fix/patch, kind", "{step: fix_0/patch, kind", 30, `no step is named "fix_0/patch"`},
	{"kind: done, why: because", "kind: doen, why: because", 29, `did you mean "done"?`},
	{"kind: done, why: tested", "kind: 5, why: tested", 30, "is not a text"},
	{"why: because", "wy: because", 29, `did you mean "why"?`},
	{", why: tested elsewhere", "", 30, "why is missing"},
	{"- {step: never, kind: done, why: because}", "- never", 29, "is not a map"},
	// What would pass without a word.
	{"expect: {outcome: failed, failed: clean, outputs: none}", "expect: {}", 26, "has no expect"},
	{"    expect: {outcome: failed, failed: clean, outputs: none}\n", "    expect:\n", 26, "has no expect"},
	{"ran: [status, look_0, fix_0/patch, clean]", "ran: {status: done}", 14, "names no steps"},
	{"issued: {look_1: {n: 2}, tag: {name: \"/^v/\"}}", "asked_: 1", 17, `did you mean "asked"?`},
	{"try: {attempts: [1, 2]}", "try: {attempts: 5}", 9, "is not a list"},
	{"try: {attempts: [1, 2]}", "try: {attempts: {1: a}}", 9, "is not a list"},
	{"look: [a, b]", "look: [a, {attempts: b}]", 7, "is not a list"},
	{"{look_1: b, fix_2/patch: {ok: true}, each_1_0/patch: 1}", "{look_1: b}\n    calls: {clean: [{tool: a.b}]}", 26, "flow.assert by itself"},
	{"coverage:\n  ignore:\n    - {step: never, kind: done, why: because}\n    - {step: fix/patch", "coverage:\n  ignore: {step: never, kind: done, why: because}\n  other:\n    - {step: fix/patch", 28, "is not a list"},
	{"{step: never, kind: done, why", "{step: never, kind: approved, why", 29, "no case can reach"},
	{"{step: fix/patch, kind: done, why: tested", "{step: clean, kind: done, why: tested", 30, "assert_holds, assert_fails"},
	// Blocks whose lines do not fit: the line, and not where the block begins.
	{"    expect:\n", "   expect:\n", 12, "did not find expected"},
	{"      outcome: done", "       outcome: done", 14, "did not find expected"},
	{"  - name: two", "  -name: two", 23, "did not find expected"},
	{"  - name: two", "   - name: two", 23, "did not find expected"},
	{"{version: 1.4.0}", "{version: 1.4.0}}", 4, "did not find expected"},
	{"{flag: yes}", "{flag: yes}]", 24, "did not find expected"},
	{"summary: /Released/", `summary: "/\d+/"`, 22, "single quotes"},
	{"name: two", "name: - two", 23, "quote"},
	{"name: two", "name: @two", 23, "quote"},
	{"name: two", "name: `two`", 23, "quote"},
	{"name: two", "name: a: two", 23, "quote"},
	{"    answers: {look_1: b", "    answers {look_1: b", 25, ""},
	{"name: two", "name:two", 24, ""},
}

// Each of a hundred mistakes is told at its line.
func TestMistakesAreToldAtTheirLine(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": tested, "fixing": fixing})
	require.Empty(t, cases.Diagnostics("main.cases.yaml", []byte(sound), graph))
	require.GreaterOrEqual(t, len(mistakes), 100)
	for _, each := range mistakes {
		require.Equal(t, 1, strings.Count(sound, each.text), each.text)
		found := cases.Diagnostics("main.cases.yaml", []byte(strings.Replace(sound, each.text, each.instead, 1)), graph)
		assert.NotEmpty(t, found, each.instead)
		at := -1
		for i, d := range found {
			require.Positive(t, d.Line, each.instead)
			require.Positive(t, d.Column, each.instead)
			require.Equal(t, "main.cases.yaml", d.File)
			require.NotEmpty(t, d.Code)
			if at < 0 && (d.Line == each.line || each.line == 0) && strings.Contains(d.Message+" "+expectedOf(d), each.says) {
				at = i
			}
		}
		assert.GreaterOrEqual(t, at, 0, "%s: line %d, %q: %v", each.instead, each.line, each.says, found)
	}
}

func expectedOf(d fault.Diagnostic) string { return d.Expected }

// Cases of one file may run at once, and come to the same.
func TestCasesRunAtOnce(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	file := parsed(t, `  - {name: a, params: {version: 1.4.0}, answers: {status: {clean: true}, tests: {}, approve: {approved: true}, tag: {value: [1]}}, expect: {outcome: done, captures: {tagged: "{{ len(value) == 1 and state.tree.clean }}"}, summary: "/^Rel/"}}
  - {name: b, params: {version: 1.4.0}, answers: {status: {clean: false}}, expect: {outcome: done}}
`, graph)
	expected := []cases.Result{cases.Run(file, file.Cases[0], graph), cases.Run(file, file.Cases[1], graph)}
	require.Empty(t, expected[0].Differences)
	require.Len(t, expected[1].Differences, 1)
	var workers sync.WaitGroup
	results := make([]cases.Result, 40)
	for i := range results {
		workers.Go(func() { results[i] = cases.Run(file, file.Cases[i%2], graph) })
	}
	workers.Wait()
	for i, result := range results {
		require.Equal(t, expected[i%2], result)
	}
}
