package cases_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/cases"
	"savant/think/flow"
	"savant/think/library"
)

// opened is a library of workflows by name.
func opened(workflows map[string]string) *library.Library {
	files := fstest.MapFS{}
	for name, text := range workflows {
		files["workflows/"+name+".yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nversion: \"1\"\n" + text)}
	}
	return library.New(library.Layer{Files: files})
}

// graphOf is the graph of the workflow main.
func graphOf(t testing.TB, workflows map[string]string) *flow.Graph {
	t.Helper()
	graph, err := opened(workflows).Graph("main")
	require.NoError(t, err)
	return graph
}

func parsed(t testing.TB, text string, graph *flow.Graph) *cases.File {
	t.Helper()
	file, err := cases.Parse("main.cases.yaml", []byte("workflow: main\ncases:\n"+text))
	require.NoError(t, err)
	require.NoError(t, cases.Check(file, graph))
	return file
}

const release = `
params: {version: {type: string, required: true}}
steps:
  - {id: status, call: git.status, capture_as: tree}
  - {id: clean, call: flow.assert, input_template: {that: "{{ tree.clean }}", message: dirty}}
  - {id: tests, call: ci.run_tests}
  - {id: approve, call: human.approve, input_template: {message: "Release {{ params.version }}?"}}
  - {id: tag, call: git.tag, input_template: {name: "v{{ params.version }}"}, capture_as: tagged}
outputs: {tagged: "{{ tagged }}"}
summary: "Released {{ params.version }}"
`

// The example of the language, and what differs where a case is wrong.
func TestACaseSaysWhatARunComesTo(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	for name, each := range map[string]struct{ text, differs string }{
		"a dirty tree":      {`{answers: {status: {clean: false}}, expect: {outcome: failed, ran: [status], failed: clean, skipped: [tests, approve, tag]}}`, ""},
		"a person declines": {`{answers: {status: {clean: true}, tests: {status: passed}, approve: {approved: false, comment: not today}}, expect: {outcome: failed, skipped: [tag], failed: {approve: APPROVAL_REQUIRED}, asked: {approve: {message: "/1\\.4\\.0/"}}}}`, ""},
		"all": {`{answers: {status: {clean: true}, tests: {}, approve: {approved: true}, tag: {value: [1]}}, expect: {outcome: done, outputs: {tagged: [1]}, captures: {tagged: "{{ len(value) == 1 and value[0] == 1 and params.version == '1.4.0' and state.tree.clean }}"},` +
			` issued: {tag: {name: v1.4.0}}, summary: "/^Released/", skipped: [], asked: [approve], ran: [status, tests, approve, tag, clean]}}`, ""},
		"outputs none":       {`{answers: {status: {clean: false}}, expect: {outputs: none}}`, ""},
		"wrong outcome":      {`{answers: {status: {clean: false}}, expect: {outcome: done}}`, "expect.outcome"},
		"ran too little":     {`{answers: {status: {clean: false}}, expect: {ran: []}}`, "expect.ran"},
		"skipped is exact":   {`{answers: {status: {clean: false}}, expect: {skipped: [tests]}}`, "expect.skipped"},
		"another cause":      {`{answers: {status: {clean: false}}, expect: {skipped: {tests: '/failed/', approve: '/failed/', tag: when}}}`, "expect.skipped.tag"},
		"another code":       {`{answers: {status: {clean: false}}, expect: {failed: {clean: TOOL_FAILED}}}`, "expect.failed.clean"},
		"not asked":          {`{answers: {status: {clean: false}}, expect: {asked: {approve: {message: x}}}}`, "expect.asked.approve"},
		"another input":      {`{answers: {status: {clean: true}, tests: 1, approve: {approved: true}, tag: 1}, expect: {issued: {tag: {name: v2}}}}`, "expect.issued.tag.name"},
		"an answer missing":  {`{answers: {status: {clean: true}}, expect: {outcome: done}}`, "answers"},
		"an answer unused":   {`{answers: {status: {clean: false}, tag: 1}, expect: {outcome: failed}}`, "answers.tag"},
		"a false expression": {`{answers: {status: {clean: false}}, expect: {captures: {tree: "{{ value.clean }}"}}}`, "expect.captures.tree"},
		"no capture":         {`{answers: {status: {clean: false}}, expect: {captures: {tagged: 1}}}`, "expect.captures.tagged"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.TrimPrefix(each.text, "{")
			file := parsed(t, "  - {name: x, params: {version: 1.4.0}, "+body, graph)
			result := cases.Run(file, file.Cases[0], graph)
			if each.differs == "" {
				require.Empty(t, result.Differences)
				return
			}
			require.NotEmpty(t, result.Differences)
			require.Equal(t, "cases[0]."+each.differs, result.Differences[0].Path)
			require.Equal(t, 3, result.Differences[0].Line)
		})
	}
}

// Loops, repeats, children and attempts are answered by list, by id, and by both.
func TestAnswersOfLoopsAndRepeats(t *testing.T) {
	workflows := map[string]string{
		"main": `
steps:
  - {id: look, foreach: "[1, 2]", as: n, call: tool.look, capture_as: looks}
  - {id: try, call: llm.generate, success_schema: {type: integer}, input_template: {task: t}}
  - {id: fix, call: flow.run, repeat: {until: "result.ok", max: 3}, input_template: {workflow: fixing}, on_failure: continue}
  - {id: each, foreach: "['a', 'b']", as: name, call: flow.run, repeat: {until: "result.ok", max: 2}, input_template: {workflow: fixing}}
  - {id: call, call: tool.fails, on_failure: continue, retry: {max: 1}}
`,
		"fixing": `
steps:
  - {id: patch, call: tool.patch, capture_as: patched}
outputs: {ok: "{{ patched.ok }}"}
`}
	graph := graphOf(t, workflows)
	expect := `expect: {outcome: done, ran: [look_0, look_1, try, fix_0/patch, fix_1/patch, each_0_0/patch, each_1_0/patch, each_1_1/patch], failed: call, captures: {looks: [x, [y]], fix_1/patched: {ok: true}}, rounds: {fix: 2, each_0: 1, each_1: 2}}`
	fails := `call: {attempts: [{isError: true, content: [{type: text, text: no}]}, {isError: true, content: []}]}`
	for name, answers := range map[string]string{
		"lists": `look: [x, {value: [y]}], try: {attempts: [one, 1]}, fix/patch: [{ok: false}, {ok: true}], each/patch: [[{ok: true}], [{ok: false}, {ok: true}]], ` + fails,
		"ids":   `look_0: x, look_1: {value: [y]}, try: {attempts: [one, 1]}, fix_0/patch: {ok: false}, fix_1/patch: {ok: true}, each_0_0/patch: {ok: true}, each_1_0/patch: {ok: false}, each_1_1/patch: {ok: true}, ` + fails,
		"both":  `look_0: x, look: [never, {value: [y]}], try: {attempts: [one, 1]}, fix_1/patch: {ok: true}, fix/patch: [{ok: false}], each_1/patch: [{ok: false}, {ok: true}], each/patch: [[{ok: true}]], ` + fails,
	} {
		t.Run(name, func(t *testing.T) {
			file := parsed(t, "  - {name: x, answers: {"+answers+"}, "+expect+"}", graph)
			result := cases.Run(file, file.Cases[0], graph)
			if name == "both" { // the list's first value is not taken: its own id goes first
				require.Len(t, result.Differences, 1)
				require.Equal(t, "cases[0].answers.look[0]", result.Differences[0].Path)
				return
			}
			require.Empty(t, result.Differences)
			for _, point := range []cases.Point{{Step: "try", Kind: cases.Done}, {Step: "fix", Kind: cases.Reached}, {Step: "call", Kind: cases.Failure}, {Step: "call", Kind: cases.Retried}, {Step: "fix/patch", Kind: cases.Done}, {Step: "look", Kind: cases.Items}} {
				require.True(t, result.Reached[point], point)
			}
		})
	}
	missing := parsed(t, `  - {name: x, answers: {look: [x]}, expect: {outcome: done}}`, graph)
	differences := cases.Run(missing, missing.Cases[0], graph).Differences
	require.Len(t, differences, 1)
	require.Contains(t, differences[0].Message, "step look_1 is reached")
	require.Equal(t, "look_1", differences[0].Seen.(map[string]any)["step_id"], "with the instruction it got")
}

// What a call with an unknown outcome waits for, and a step that must be witnessed, are
// answered by the case.
func TestStatementsAndWitnesses(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
steps:
  - {id: send, call: mail.send, effect: write, capture_as: sent}
  - {id: seen, call: mail.read, witness: required, capture_as: read}
`})
	lost := `{isError: true, content: [{type: text, text: '{"error":"TOOL_TIMEOUT","details":"late","outcome":"unknown"}'}]}`
	file := parsed(t, `  - {name: x, answers: {send: {attempts: [`+lost+`, {unknown_outcome: done, result: {id: 7}}]}, seen: {n: 1}}, expect: {outcome: done, captures: {sent: {id: 7}, read: {n: 1}}}}`, graph)
	require.Empty(t, cases.Run(file, file.Cases[0], graph).Differences)
}

// Mistakes are told at their line, with the nearest name.
func TestMistakesOfFiles(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	for text, said := range map[string]string{
		"cases: []":                                                               "workflow is missing",
		"workflow: main":                                                          "cases: is missing",
		"workflow: main\ncases: {}":                                               "is not a list of cases",
		"workflow: main\ncase: []\ncases: []":                                     `did you mean "cases"`,
		"workflow: main\ncases:\n- name: a":                                       "has no expect",
		"workflow: main\ncases:\n- expect: {outcome: done}":                       "name is missing",
		"workflow: main\ncases:\n- 1":                                             "is not a map",
		"workflow: main\ncases: [{name: 1, expect: {outcome: done}}]":             "is not a text",
		"workflow: main\ncases: [{name: a, expect: 1}]":                           "is not a map",
		"workflow: main\ncases: [{name: a, expect: {outcom: done}}]":              `did you mean "outcome"`,
		"workflow: main\ncases: [{name: a, expect: {outcome: don}}]":              `did you mean "done"`,
		"workflow: main\ncases: [{name: a, answer: {}, expect: {outcome: done}}]": `did you mean "answers"`,
		"workflow: main\ncases: [{name: a, expect: {outcome: done}}, {name: a, expect: {outcome: done}}]": "another case has this name",
		"workflow: main\ncases: [{name: a, params: {versoin: 1}, expect: {outcome: done}}]":               `did you mean "version"`,
		"workflow: main\ncases: [{name: a, answers: {statsu: 1}, expect: {outcome: done}}]":               `did you mean "status"`,
		"workflow: main\ncases: [{name: a, answers: {status_0: 1}, expect: {outcome: done}}]":             `did you mean "status"`,
		"workflow: main\ncases: [{name: a, answers: {status/x: 1}, expect: {outcome: done}}]":             "no step is named",
		"workflow: main\ncases: [{name: a, answers: {clean: 1}, expect: {outcome: done}}]":                "by itself",
		"workflow: main\ncases: [{name: a, answers: {status: [1]}, expect: {outcome: done}}]":             "{value: […]}",
		"workflow: main\ncases: [{name: a, expect: {ran: [tga]}}]":                                        `did you mean "tag"`,
		"workflow: main\ncases: [{name: a, expect: {ran: [1]}}]":                                          "is not the id of a step",
		"workflow: main\ncases: [{name: a, expect: {ran: 1}}]":                                            "names no steps",
		"workflow: main\ncases: [{name: a, expect: {skipped: {tga: x}}}]":                                 `did you mean "tag"`,
		"workflow: main\ncases: [{name: a, expect: {failed: tga}}]":                                       `did you mean "tag"`,
		"workflow: main\ncases: [{name: a, expect: {outputs: nothing}}]":                                  "is not a map",
		"workflow: main\ncases: [{name: a, expect: {outputs: {taged: 1}}}]":                               `did you mean "tagged"`,
		"workflow: main\ncases: [{name: a, expect: {captures: {taged: 1}}}]":                              `did you mean "tagged"`,
		"workflow: main\ncases: []\ncoverage: {ignore: [{step: tga, kind: done, why: x}]}":                `did you mean "tag"`,
		"workflow: main\ncases: []\ncoverage: {ignore: [{step: tag, kind: don, why: x}]}":                 `did you mean "done"`,
		"workflow: main\ncases: []\ncoverage: {ignore: [{step: tag, kind: done}]}":                        "why is missing",
		"workflow: main\ncases: []\ncoverage: {ignored: []}":                                              `did you mean "ignore"`,
		"workflow: main\ncases: [{name: a, expect: {outcome: done}}]\nworkflow: other":                    "workflow",
		"workflow: [main": "",
		"a: &x 1\nb: *x":  "",
	} {
		file, err := cases.Parse("main.cases.yaml", []byte(text))
		if err == nil {
			err = cases.Check(file, graph)
		}
		require.Error(t, err, text)
		found := fault.From(err).Diagnostics
		require.NotEmpty(t, found, text)
		require.Contains(t, found[0].Message, said, text)
		require.Positive(t, found[0].Line, text)
		require.Equal(t, "main.cases.yaml", found[0].File)
	}
}

// Every kind of point is reached by a case, and is named where no case reaches it.
func TestCoverage(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
params: {go: {type: boolean, default: true}, list: {type: array, default: [1]}}
steps:
  - {id: maybe, when: params.go, call: tool.a, capture_as: a}
  - {id: check, call: flow.assert, input_template: {that: "{{ (a?.n ?? 1) > 0 }}", message: m}, on_failure: continue}
  - {id: each, foreach: params.list, as: n, when: "n > 0", call: tool.b, on_failure: continue}
  - {id: both, deps: [maybe], join: success, call: tool.c, retry: {max: 1}}
  - {id: ask, call: human.approve, input_template: {message: m}, on_failure: continue}
`})
	file := parsed(t, `
  - {name: one, answers: {maybe: {n: 1}, each: [1], both: {attempts: [{isError: true, content: []}, 1]}, ask: {approved: true}}, expect: {outcome: done}}
  - {name: two, params: {go: false, list: []}, answers: {ask: {approved: false}}, expect: {outcome: done}}
  - {name: three, params: {list: [0, 1]}, answers: {maybe: {n: 0}, each_1: {attempts: [{isError: true, content: [{type: text, text: '{"error":"TOOL_FAILED","details":"no","retry":false}'}]}]}, both: 1, ask: {approved: true}}, expect: {failed: [check, each_1]}}
`, graph)
	reached := cases.Points{}
	for i, c := range file.Cases {
		result := cases.Run(file, c, graph)
		require.Empty(t, result.Differences, c.Name)
		for point := range result.Reached {
			reached[point] = true
		}
		if i == 0 {
			missing := cases.Cover(graph, reached, nil).Missing
			require.Contains(t, missing, cases.Uncovered{Point: cases.Point{Step: "maybe", Kind: cases.WhenFalse}, File: "workflows/main.yaml", Line: 6})
			excused := cases.Cover(graph, reached, []cases.Excuse{{Step: "maybe", Kind: cases.WhenFalse, Why: "x"}})
			require.Len(t, excused.Missing, len(missing)-1)
		}
	}
	covered := cases.Cover(graph, reached, nil)
	require.Empty(t, covered.Missing)
	require.Equal(t, len(cases.PointsOf(graph)), covered.Points)
}

// A change of the workflow is noticed by a case that says what it is for; the changes are
// the same each time.
func TestMutants(t *testing.T) {
	workflows := opened(map[string]string{"main": release})
	graph, err := workflows.Graph("main")
	require.NoError(t, err)
	compile := func(src []byte) (*flow.Graph, error) {
		changed, err := workflows.Parse("workflows/main.yaml", src)
		if err != nil {
			return nil, err
		}
		return workflows.Compile(changed)
	}
	weak := parsed(t, `  - {name: all, params: {version: 1.4.0}, answers: {status: {clean: true}, tests: {}, approve: {approved: true}, tag: 1}, expect: {outcome: done}}`, graph)
	strong := parsed(t, `  - {name: all, params: {version: 1.4.0}, answers: {status: {clean: true}, tests: {}, approve: {approved: true}, tag: 1}, expect: {outcome: done, asked: {approve: {message: "/1.4/"}}, issued: {tag: {name: v1.4.0}}, outputs: {tagged: 1}}}`, graph)
	unnoticed := func(file *cases.File) (left []string) {
		for _, each := range cases.Mutate(graph, []*cases.File{file}, 0, compile) {
			if each.KilledBy == "" {
				left = append(left, fmt.Sprint(each.Step, " ", each.Kind, " ", each.Line))
			}
		}
		return left
	}
	require.Equal(t, []string{"approve reference 9", "tag reference 10", " reference 11"}, unnoticed(weak))
	require.Equal(t, unnoticed(weak), unnoticed(weak))
	require.Empty(t, unnoticed(strong))
	require.Len(t, cases.Mutate(graph, []*cases.File{weak}, 2, compile), 2)
}

// What changes nothing is no change: what a read implies, keywords that refuse nothing, a
// type beside its values. Texts in lists and schemas within others are changed.
func TestEveryMutantIsAChange(t *testing.T) {
	source := map[string]string{"main": `
steps:
  - id: a
    call: llm.generate
    input_template: {task: [x, {y: "{{ params.n }}"}]}
    success_schema: {type: object, required: [], minProperties: 1, additionalProperties: true, properties: {k: {enum: [1], type: integer}, u: {type: string, minLength: 0}}, anyOf: [{required: [k]}]}
    capture_as: a
  - {id: b, deps: [a], foreach: "[]", call: tool.b, input_template: {n: "{{ a }}"}}
  - {id: c, deps: [b], call: tool.c}
params: {n: {type: integer}}
`}
	workflows := opened(source)
	graph, err := workflows.Graph("main")
	require.NoError(t, err)
	var found []string
	for _, each := range cases.Mutate(graph, nil, 0, func(src []byte) (*flow.Graph, error) {
		changed, err := workflows.Parse("workflows/main.yaml", src)
		if err != nil {
			return nil, err
		}
		return workflows.Compile(changed)
	}) {
		found = append(found, fmt.Sprint(each.Step, " ", each.Kind, " ", cases.InJSON(each.From)))
	}
	require.Equal(t, []string{`a reference "{{ params.n }}"`, `a schema "object"`, `a schema [1]`, `a schema "string"`, `a schema ["k"]`, `b reference "{{ a }}"`, `c dependency ["b"]`}, found)
}

// Long answers are given to the run again when it asks for them.
func TestLongAnswers(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
steps:
  - {id: a, call: tool.a, capture_as: a}
  - {id: b, foreach: a.list, as: n, call: tool.b, input_template: {n: "{{ n }}"}, capture_as: bs}
outputs: {last: "{{ last(bs) }}"}
`})
	long := strings.Repeat("x", 20_000)
	file := parsed(t, `  - {name: x, answers: {a: {list: [1, 2], text: `+long+`}, b: [`+long+`, end]}, expect: {outcome: done, outputs: {last: end}, captures: {a: "{{ len(value.text) == 20000 }}"}}}`, graph)
	require.Empty(t, cases.Run(file, file.Cases[0], graph).Differences)
}

func FuzzParse(f *testing.F) {
	graph := graphOf(f, map[string]string{"main": release})
	f.Add("workflow: main\ncases: [{name: a, params: {version: x}, answers: {status: {clean: false}}, expect: {outcome: failed}}]")
	f.Add("workflow: main\ncases: [{name: a, answers: {status: {attempts: []}}, expect: {ran: {a: b}, summary: '/(/', outputs: none}}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := cases.Parse("main.cases.yaml", []byte(text))
		if err != nil || cases.Check(file, graph) != nil {
			return
		}
		for _, c := range file.Cases {
			cases.Run(file, c, graph)
		}
	})
}

// BenchmarkCases is the time of 1,000 cases of 20 steps; BenchmarkParse that of reading
// their workflow.
func BenchmarkCases(b *testing.B) {
	steps, answers := "steps:\n", ""
	for i := range 20 {
		steps += fmt.Sprintf("  - {id: s%d, call: tool.x, capture_as: c%d, input_template: {n: \"{{ %s }}\"}}\n", i, i, map[bool]string{true: "1", false: fmt.Sprintf("c%d.n + 1", i-1)}[i == 0])
		answers += fmt.Sprintf("s%d: {n: %d}, ", i, i)
	}
	graph := graphOf(b, map[string]string{"main": steps})
	file := parsed(b, "  - {name: x, answers: {"+answers+"}, expect: {outcome: done}}", graph)
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			graphOf(b, map[string]string{"main": steps})
		}
	})
	b.Run("1000", func(b *testing.B) {
		for b.Loop() {
			for range 1000 {
				require.Empty(b, cases.Run(file, file.Cases[0], graph).Differences)
			}
		}
	})
}

// One answer is that of all who have to agree; each may have their own.
func TestSeveralPersonsAgree(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
steps:
  - {id: both, call: human.approve, input_template: {message: m}, approvers: [anna, ben, carl], count: 2}
  - {id: last, call: ci.run_tests}
`})
	for text, differs := range map[string]string{
		`{answers: {both: {approved: true}, last: {}}, expect: {outcome: done}}`:                                                           "",
		`{answers: {both: {attempts: [{approved: true, by: ben}, {approved: false, by: anna}]}}, expect: {outcome: failed, failed: both}}`: "",
		`{answers: {both: {attempts: [{approved: true, by: ben}, {approved: true, by: ben}]}, last: {}}, expect: {outcome: done}}`:         "ben agreed already",
		`{answers: {both: {attempts: [{approved: true, by: ben}, {approved: true, by: eve}]}, last: {}}, expect: {outcome: done}}`:         "not of eve",
		`{answers: {both: {attempts: [{approved: true}]}, last: {}}, expect: {outcome: done}}`:                                             "attempt 2 has no answer",
	} {
		file := parsed(t, "  - "+strings.Replace(text, "{answers", "{name: n, answers", 1), graph)
		result := cases.Run(file, file.Cases[0], graph)
		if differs == "" {
			require.Empty(t, result.Differences, text)
			continue
		}
		require.NotEmpty(t, result.Differences, text)
		require.Contains(t, result.Differences[0].Message, differs)
	}
}

// Calls that are not made, and refusals that no rule is there for, fail a case.
func TestCallsThatAreNotMade(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": tested, "fixing": fixing})
	for calls, said := range map[string]string{
		"status: [{tool: git.push, refused: true}]": "rules do not refuse this call",
		"look: [{tool: git.push}]":                  "no step of this id was issued",
		"approve: [{tool: git.push}]":               "no step of this id was issued",
		"status: [{tool: git.push}]":                "",
	} {
		file := parsed(t, "  - {name: a, answers: {status: {clean: false}}, calls: {"+calls+"}, expect: {failed: clean}}\n", graph)
		found := cases.Run(file, file.Cases[0], graph).Differences
		if said == "" {
			require.Empty(t, found, calls)
			continue
		}
		require.NotEmpty(t, found, calls)
		require.Contains(t, found[0].Message, said)
		require.Contains(t, found[0].Path, "calls")
	}
}
