package check_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/schemas"
	"savant/test/golden"
	"savant/think/check"
	"savant/think/flow"
	"savant/think/library"
)

// tools are those of a server of Savant's own and of a mounted one.
func tools(name string) (check.Tool, bool) {
	known := map[string]check.Tool{
		"own.log": {Own: true,
			Input:  json.RawMessage(`{"type":"object","required":["repo"],"properties":{"repo":{"type":"string","minLength":1},"limit":{"type":"integer","maximum":50},"paths":{"type":"array","items":{"type":"string"}},"order":{"enum":["asc","desc"]}}}`),
			Output: json.RawMessage(`{"type":"object","required":["commits","more"],"properties":{"commits":{"type":"array","items":{"type":"object","required":["hash","lines"],"properties":{"hash":{"type":"string"},"lines":{"type":"integer"}}}},"more":{"type":"boolean"}}}`)},
		"far.find": {
			Input:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"where":{"$ref":"#/$defs/place"}},"additionalProperties":false,"$defs":{"place":{"type":"object","properties":{"folder":{"type":"string"}},"additionalProperties":false}}}`),
			Output: json.RawMessage(`{"type":"object","required":["found"],"properties":{"found":{"type":"array","items":{"type":"string"}}}}`)},
		"far.part": {Output: json.RawMessage(`{"type":"object","properties":{"found":{"type":"object","properties":{"n":{"type":"integer"}}}}}`)},
		"far.open": {Input: json.RawMessage(`{"type":"object"}`)},
	}
	tool, ok := known[name]
	return tool, ok
}

// a workflow with captures of every kind; %s is where the steps of a test go.
const frame = `name: w
version: "1"
params:
  name: {type: string, required: true}
  count: {type: integer, default: 3}
  mode: {enum: [fast, slow], default: fast}
  maybe: {type: string}
  open: {}
steps:
  - id: answer
    call: llm.generate
    input_template: {task: x}
    success_schema:
      type: object
      required: [text, risk, size, ok, parts]
      properties:
        text: {type: string}
        risk: {enum: [low, high]}
        size: {type: integer}
        ok: {type: boolean}
        parts: {type: array, items: {$ref: "#/$defs/part"}}
      additionalProperties: false
      $defs: {part: {type: object, required: [path, n], properties: {path: {type: string}, n: {type: integer}}, additionalProperties: false}}
    capture_as: answer
  - id: log
    call: own.log
    input_template: {repo: .}
    capture_as: log
  - id: found
    call: far.find
    capture_as: found
  - id: free
    call: far.open
    capture_as: free
  - id: each
    foreach: answer.parts
    as: part
    call: flow.set
    input_template: {value: {path: "{{ part.path }}", twice: "{{ part.n * 2 }}"}}
    capture_as: each
  - id: asked
    call: human.ask
    input_template: {message: m, schema: {type: object, required: [why], properties: {why: {type: string}}, additionalProperties: false}}
    capture_as: asked
  - id: approved
    call: human.approve
    input_template: {message: m}
    capture_as: approved
%s
outputs:
  all: ["{{ params }}", "{{ answer }}", "{{ log }}", "{{ found }}", "{{ free }}", "{{ each }}", "{{ asked }}", "{{ approved }}"]
`

var update = flag.Bool("update", false, "write the golden files anew")

func report(t *testing.T, source string) check.Report {
	t.Helper()
	files := library.New(library.Layer{Files: savant.Files})
	workflow, err := files.Parse("", []byte(source))
	require.NoError(t, err, source)
	graph, err := files.Compile(workflow)
	require.NoError(t, err, source)
	return check.Graph(graph, tools, nil)
}

// lines writes diagnostics as "severity at text: message".
func lines(found check.Report) []string {
	var out []string
	for severity, list := range map[string][]fault.Diagnostic{"error": found.Errors, "warning": found.Warnings} {
		for _, d := range list {
			out = append(out, severity+": "+d.Message)
		}
	}
	return out
}

// with returns the frame with one step that renders an expression.
func rendering(expression string) string {
	return fmt.Sprintf(frame, "  - id: probe\n    call: flow.set\n    input_template: {value: "+fmt.Sprintf("%q", "{{ "+expression+" }}")+"}")
}

// TestExpressions checks how severe each finding is. The wording is in
// testdata/expressions.golden.
func TestExpressions(t *testing.T) {
	messages := map[string]string{}
	for expression, severity := range map[string]string{
		`answer.txt`:                               "error",
		`state.answer.parts[0].pth`:                "error",
		`map(answer.parts, .pth)`:                  "error",
		`map(answer.parts, #.pth)`:                 "error",
		`answer?.txt ?? 1`:                         "warning",
		`log.comits`:                               "error",
		`log.commits[0].hsh`:                       "error",
		`log.commits.hash`:                         "error",
		`found.fond`:                               "warning",
		`each[0].thrice`:                           "error",
		`asked.wy`:                                 "error",
		`approved.yes`:                             "error",
		`answer.text.length`:                       "error",
		`answer.size.x`:                            "error",
		`answer.risk == "hihg"`:                    "error",
		`"medium" == answer.risk`:                  "error",
		`params.mode == "quick"`:                   "error",
		`answer.size == "3"`:                       "error",
		`answer.risk != "medium"`:                  "warning",
		`steps.answer.status == "success"`:         "error",
		`steps.answer.status in ["ok", "done"]`:    "warning",
		`steps.answer.status in ["ok", "fine"]`:    "error",
		`type(open) == "object"`:                   "error",
		`any(answer.parts, .path == 3)`:            "error",
		`filter(answer.parts, .path)`:              "error",
		`answer.text and true`:                     "error",
		`not answer.size`:                          "error",
		`answer.text ? 1 : 2`:                      "error",
		`answer.text + 1`:                          "error",
		`answer.text < 1`:                          "error",
		`answer.parts * 2`:                         "error",
		`len(answer.size)`:                         "error",
		`map(answer, .x)`:                          "error",
		`join(answer.text, ",")`:                   "error",
		`"a" in answer.text`:                       "error",
		`answer.size contains "a"`:                 "error",
		`upper(answer.size)`:                       "error",
		`let a = answer; a.txt`:                    "error",
		`first(answer.parts).pth`:                  "error",
		`find(answer.parts, .n > 1).pth`:           "error",
		`sortBy(answer.parts, .n)[0].pth`:          "error",
		`answer.parts[1:][0].pth`:                  "error",
		`concat(answer.parts, answer.parts)[0].x`:  "error",
		`flatten([answer.parts])[0].x`:             "error",
		`({a: 1}).b`:                               "error",
		`(answer.ok ? answer : log).neither`:       "error",
		`params.count.x`:                           "error",
		`reduce(answer.parts, #acc + #.nn, 0)`:     "error",
		`groupBy(answer.parts, .path)["a"][0].nn`:  "error",
		`answer.parts | map(.pth)`:                 "error",
		`answer["txt"]`:                            "error",
		`answer.size > "1"`:                        "error",
		`split(answer.text, ",")[0].x`:             "error",
		`string(answer.size).x`:                    "error",
		`answer.text matches answer.size`:          "error",
		`answer.text[0] == 1`:                      "error",
		`sum(answer.parts, .m)`:                    "error",
		`count(answer.parts, .n)`:                  "error",
		`-answer.text`:                             "error",
		`1..answer.text`:                           "error",
		`{"x": answer.txt}`:                        "error",
		`[answer.txt]`:                             "error",
		`answer.ok == "true"`:                      "error",
		`run.id == 3`:                              "error",
		`len(answer.parts) == "2"`:                 "error",
		`fromJSON(answer.text).anything`:           "",
		`1 / 0`:                                    "error",
		`[][0]`:                                    "error",
		`values({})[0].x`:                          "error",
		`let n = 0; 5 % n`:                         "error",
		`int("x")`:                                 "error",
		`9223372036854775807 + 1`:                  "error",
		`repeat("ab", 3) + toJSON([1 / 2])`:        "",
		`answer.ok ? 1 / 0 : 2`:                    "",
		`params.count % 0`:                         "error",
		`answer.size / 0.0`:                        "error",
		`answer.size % (2 - 2)`:                    "error",
		`let n = len([]); answer.size / n`:         "error",
		`let n = answer.size; n % 0 == 1`:          "error",
		`[answer.text, [][0]]`:                     "error",
		`{a: answer.ok, b: int("x")}`:              "error",
		`answer.text + string(1 / 0)`:              "error",
		`1 % 0 == answer.size and answer.ok`:       "error",
		`(answer.size + 1) * (int("y") ?? 2)`:      "error",
		`answer.parts[0:1 % 0]`:                    "error",
		`upper(answer.text[0:[1][2]])`:             "error",
		`not (fromJSON("{") == answer.text)`:       "error",
		`max([answer.size % 0, 1]) > 0`:            "error",
		`repeat(answer.text, 1 - 2)`:               "error",
		`take(answer.parts, -1)`:                   "error",
		`take(answer.parts, 1.5)`:                  "error",
		`sortBy(answer.parts, .n, "down")`:         "error",
		`sort(map(answer.parts, .n), "up")`:        "error",
		`answer.size % 0.5`:                        "error",
		`answer.text[1.5:]`:                        "error",
		`answer.parts[:7 / 2]`:                     "error",
		`answer.text[1.5:][:1]`:                    "error",
		`answer.size..2.5`:                         "error",
		`2.5..answer.size`:                         "error",
		`answer.parts[1.5]`:                        "error",
		`answer.parts[6 / 4]`:                      "error",
		`let half = 1 / 2; answer.parts[half]`:     "error",
		`free[1 == 1]`:                             "error",
		`free[[1]]`:                                "error",
		`answer.parts[6 / 3]`:                      "",
		`answer.parts[answer.size / 2]`:            "",
		`free[true]`:                               "error",
		`map(answer.parts, answer.text[0.5])`:      "error",
		`answer.parts[1.0]`:                        "",
		`answer.text[1.0:6 / 2]`:                   "",
		`answer.text[answer.size / 2:]`:            "",
		`answer.size..1000000000`:                  "",
		`answer.ok ? answer.text[1.5:] : ""`:       "",
		`sortBy(answer.parts, .n, "desc")`:         "",
		`take(answer.parts, answer.size)`:          "",
		`answer.ok and 1 / 0 > 1`:                  "",
		`answer.size ?? (1 / 0)`:                   "",
		`map(answer.parts, .n % 0)`:                "",
		`answer.size / (answer.size - 1)`:          "",
		`answer.size % 2 + int("3")`:               "",
		`let zero = answer.size; 3 / zero`:         "",
		`keys(free)[0] == 1`:                       "error",
		`toPairs(free)[0][1].x`:                    "",
		`(free ?? answer).txt`:                     "",
		`max(answer.parts)`:                        "",
		`params.maybe == null`:                     "",
		`answer.text == null`:                      "warning",
		`null != answer.size`:                      "warning",
		`answer.parts == "x"`:                      "error",
		`each != 2`:                                "warning",
		`answer.risk == "low" ? "x" : answer.text`: "",
	} {
		found := lines(report(t, rendering(expression)))
		if severity == "" {
			require.Empty(t, found, expression)
			continue
		}
		require.Len(t, found, 1, expression)
		require.True(t, strings.HasPrefix(found[0], severity+": "), "%s: %s", expression, found)
		messages[expression] = found[0]
	}
	golden.Messages(t, *update, "testdata/expressions.golden", messages)
}

// A schema that allows other fields than it names makes a misspelt one odd, not wrong; one
// that says so makes it neither.
func TestAFieldNearToANamedOneIsAWarning(t *testing.T) {
	for expression, warned := range map[string]bool{"a.itms": true, "a?.itms ?? 0": true, "a.sub.kye": true, "params.o.nmae": true, "map(a.list, .dpeth)": true,
		"a.items": false, "a.other": false, "params.free.nmae": false, "'itms' in a": false} {
		found := lines(report(t, fmt.Sprintf(`name: near
version: "1"
params:
  o: {type: object, default: {name: x}, properties: {name: {type: string}}}
  free: {type: object, default: {name: x}, properties: {name: {type: string}}, additionalProperties: true}
steps:
  - id: a
    call: llm.generate
    input_template: {task: x}
    success_schema:
      type: object
      required: [items, list, sub]
      properties: {items: {type: integer}, list: {type: array, items: {properties: {depth: {type: integer}}}}, sub: {type: object, properties: {key: {type: string}}}}
    capture_as: a
  - {id: b, call: flow.set, input_template: {value: %q}}
`, "{{ "+expression+" }}")))
		if !warned {
			require.Empty(t, found, expression)
			continue
		}
		require.Len(t, found, 1, expression)
		require.Regexp(t, `^warning: .* has no field "\w+": did you mean "\w+"\? \((the parameter o|the success_schema of step a)\)$`, found[0])
	}
}

// What is right, or cannot be known to be wrong, is passed over.
func TestNothingIsSaidOfWhatMayBeRight(t *testing.T) {
	for _, expression := range []string{
		`answer.text`, `answer?.size ?? 0`, `answer.parts[0].path`, `map(answer.parts, .path)`, `log.commits[0].hash`, `free.whatever.is.there[0]`,
		`found.found[0] == "x"`, `found?.more ?? 1`, `log?.extra ?? 1`, `answer.size == 3`, `answer.size == 3.0`, `answer.size > 2.5`, `answer.ok`, `not answer.ok`,
		`answer.risk in ["low", "high"]`, `answer.risk in params.open`, `params.open.x.y`, `params.maybe != null and params.maybe contains "a"`,
		`type(free) == "string" ? free : free.text`, `type(answer.text) == "map" ? answer.text.x : answer.text`, `type(free) == "array" and free[0] == 1`,
		`"x" in answer and answer.x == 1`, `answer.text == params.name`, `params.mode == "fast" or params.mode == "slow"`, `steps.answer.status == "done"`,
		`each[0].twice > 1`, `each == []`, `answer != {}`, `state.answer != null`, `answer?.size != null and answer.size > 1`, `free.x != null`, `approved.comment ?? ""`, `asked.why`, `len(answer) + len(answer.text) + len(answer.parts)`,
		`find(answer.parts, .n == 1)?.path ?? ""`, `answer.parts == [] ? 1 : answer.parts[0].n`, `params[answer.text]`, `answer[params.name]`,
		`sum(map(answer.parts, .n)) / 2 > 1.5`, `flatten(map(answer.parts, [.path, [.n]]))`, `let x = answer.parts; x[0].path + "a"`, `answer.size ?? "none"`,
		`(answer.ok ? 1 : "a") == "a"`, `max(concat([0], map(answer.parts, .n))) + 1`, `reduce(answer.parts, #acc + .n, 0)`, `int(answer.text) == 3`,
		`groupBy(answer.parts, .path)`, `answer.text | split(",") | map(trim(#))`, `string(answer) contains "x"`, `answer.size + 0.5 == 1.5`,
	} {
		require.Empty(t, lines(report(t, rendering(expression))), expression)
	}
}

// TestSteps checks the place of each finding and how severe it is. The wording is in
// testdata/steps.golden.
func TestSteps(t *testing.T) {
	messages := map[string]string{}
	for _, c := range []struct{ steps, at, severity string }{
		{"  - {id: p, call: flow.set, when: answer.size, input_template: {value: 1}}", "answer.size", "error"},
		{"  - {id: p, call: flow.set, when: answer.parts, input_template: {value: 1}}", "answer.parts", "error"},
		{"  - {id: p, call: flow.set, foreach: answer, input_template: {value: 1}}", "answer,", "error"},
		{"  - {id: p, call: flow.set, foreach: params.count, input_template: {value: 1}}", "params.count", "error"},
		{"  - {id: p, call: flow.set, foreach: answer.parts, input_template: {value: \"{{ item.pth }}\"}}", "", "error"},
		{"  - {id: p, call: flow.set, foreach: answer.parts, when: item.n == \"1\", input_template: {value: 1}}", "", "error"},
		{"  - {id: p, call: flow.assert, input_template: {that: \"{{ answer.size }}\"}}", "", "error"},
		{"  - {id: p, call: flow.assert, input_template: {that: \"answer.ok\"}}", "", "error"},
		{"  - {id: p, call: flow.assert, input_template: {that: \"is {{ answer.ok }}\"}}", "", "error"},
		{"  - {id: p, call: own.log, extract: result.comits, input_template: {repo: .}}", "comits", "error"},
		{"  - {id: p, call: own.log, input_template: {rpeo: .}}", "rpeo", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: ., number: 3}}", "number", "error"},
		{"  - {id: p, call: own.log}", "{id: p", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: five}}", "five", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: 51}}", "51", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: \"{{ answer.text }}\"}}", "{{ answer.text", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: \"{{ answer.parts }}\"}}", "", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: ., order: \"{{ answer.ok ? 'up' : 'down' }}\"}}", "", "error"},
		{"  - {id: p, call: own.log, input_template: {repo: \"\"}}", "", "error"},
		{"  - {id: p, call: far.find, input_template: {where: {foldr: x}}}", "", "error"},
		{"  - {id: p, call: far.find, input_template: {where: {foldr: \"{{ answer.text }}\"}}}", "foldr", "error"},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello, params: {name: 3}}}", "3}", "error"},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello, params: {name: \"{{ answer.size }}\"}}}", "", "error"},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello}, capture_as: h}\n  - {id: q, call: flow.set, input_template: {value: \"{{ h.nothing }}\"}}", "", "error"},
		{"  - {id: p, call: think.plan, input_template: {workflow: x}}", "", "error"},
		{"  - {id: p, call: agent.run, input_template: {goal: x}}", "", "error"},
		{"  - {id: p, call: agent.run, witness: required}", "", "error"},
		{"  - {id: p, call: llm.generate, witness: required, input_template: {task: x}}", "witness", "error"},
		{"  - {id: p, call: human.approve, witness: required, input_template: {message: x}}", "witness", "error"},
		{"  - {id: p, call: llm.generate, input_template: {task: \"{% if x %}a{% endif %}\"}}", "{% if", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${{ params.name }}\"}}", "${{", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${name}\"}}", "${name", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${params.name}\"}}", "${params", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, rationale: \"for {{ name }}\"}", "{{ name", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, requird: [a]}}", "requird", "error"},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [b], properties: {a: {}}, additionalProperties: false}}", "required", "error"},
		{"  - {id: p, call: human.ask, input_template: {message: m, choices: [a, b]}}", "choices", "warning"},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {properties: {a: {min_length: 3}}}}", "min_length", "error"},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: string, nullable: true}}", "nullable", "warning"},
		{"  - {id: p, call: human.ask, input_template: {message: x, schema: {type: object, propertis: {}}}}", "propertis", "error"},
	} {
		found := report(t, fmt.Sprintf(frame, c.steps))
		all := append(found.Errors, found.Warnings...)
		require.Len(t, all, 1, "%s: %v", c.steps, all)
		require.True(t, strings.HasPrefix(lines(found)[0], c.severity+": "), "%s: %s", c.steps, all[0].Message)
		messages[c.steps] = lines(found)[0]
		source := strings.Split(fmt.Sprintf(frame, c.steps), "\n")
		require.Positive(t, all[0].Line, c.steps)
		require.Contains(t, all[0].Source, "^", c.steps)
		if c.at != "" {
			require.True(t, strings.HasPrefix(source[all[0].Line-1][all[0].Column-1:], c.at), "%s: %d:%d", c.steps, all[0].Line, all[0].Column)
		}
	}
	golden.Messages(t, *update, "testdata/steps.golden", messages)
}

func TestStepsThatAreRight(t *testing.T) {
	for _, steps := range []string{
		"  - {id: p, call: own.log, input_template: {repo: ., limit: 5, paths: [a, \"{{ answer.text }}\"], order: asc}}",
		"  - {id: p, call: own.log, input_template: {repo: ., limit: null, paths: \"[\\\"a\\\"]\"}}",
		"  - {id: p, call: own.log, input_template: {repo: ., limit: \"{{ params.count }}\", paths: \"{{ map(answer.parts, .path) }}\"}}",
		"  - {id: p, call: own.log, input_template: {repo: \"{{ params.maybe }}\"}}",
		"  - {id: p, call: far.open, input_template: {any: thing}}",
		"  - {id: p, call: else.where, input_template: {any: thing}, capture_as: e}\n  - {id: q, call: flow.set, input_template: {value: \"{{ e.x }}\"}, capture_as: qq}",
		"  - {id: p, call: flow.run, input_template: {workflow: hello, params: {name: \"{{ params.maybe }}\", language: de}}}",
		"  - {id: p, call: flow.run, input_template: {workflow: hello, params: \"{{ params.open }}\"}}",
		"  - {id: p, call: llm.generate, input_template: {task: \"run ${HOME}/x and $5, 100%\"}}",
		"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [b], patternProperties: {'^b': {}}, additionalProperties: false}}",
		"  - {id: p, call: human.ask, input_template: {message: m, choices: [a, b], schema: {enum: [a, b]}}}",
		"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, x-own: 1, $comment: c, properties: {requird: {}}}}",
		"  - {id: p, call: own.log, input_template: {repo: .}, success_schema: {type: object, required: [extra], properties: {commits: {}, extra: {}}}, capture_as: e}\n  - {id: q, call: flow.set, input_template: {value: \"{{ e.extra }}\"}}",
		"  - {id: p, call: flow.set, when: false, input_template: {value: 1}}",
		"  - {id: p, call: flow.set, foreach: [1, 2], when: item != 2, input_template: {value: \"{{ item + 1 }}\"}}",
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(frame, steps))), steps)
	}
}

// The end of a workflow is checked as its steps are.
func TestTheEnd(t *testing.T) {
	for _, end := range []string{"  x: \"{{ answer.txt }}\"", "summary: \"got {{ answer.txt }}\"", "artifacts: [{name: a, from: answer.txt}]"} {
		found := lines(report(t, fmt.Sprintf(frame, "")+end+"\n"))
		require.Len(t, found, 1, end)
		require.Regexp(t, `^error: answer .*"txt"`, found[0], end)
	}
}

func TestNotes(t *testing.T) {
	found := report(t, `name: w
version: "1"
params: {used: {}, unused: {}}
schemas:
  Lonely: {type: object}
  Part: {type: object}
  Whole: {type: array, items: {$ref: Part}}
steps:
  - id: a
    call: llm.generate
    input_template: {task: "{{ used }}"}
    success_schema: Whole
    capture_as: nobody
`)
	require.Empty(t, lines(found))
	var notes []string
	for _, d := range found.Notes {
		require.Equal(t, "note", d.Severity)
		notes = append(notes, fmt.Sprintf("%d:%d %s", d.Line, d.Column, regexp.MustCompile(`"\w+"`).FindString(d.Message)))
	}
	require.Equal(t, []string{`3:20 "unused"`, `5:3 "Lonely"`, `13:5 "nobody"`}, notes)
}

// Schemas that refer to themselves, or to each other many times over, are read in
// bounded time.
func TestSchemasWithoutEnd(t *testing.T) {
	many := map[string]any{}
	for i := range 30 {
		next := fmt.Sprintf("#/$defs/d%d", i+1)
		many[fmt.Sprintf("d%d", i)] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": next}, "b": map[string]any{"$ref": next}}}
	}
	many["d30"] = map[string]any{"$ref": "#"}
	set, err := schemas.Load(nil)
	require.NoError(t, err)
	source, err := json.Marshal(map[string]any{"name": "w", "version": "1", "steps": []any{map[string]any{"id": "a", "call": "tool.a", "capture_as": "a",
		"success_schema": map[string]any{"type": "object", "properties": map[string]any{"self": map[string]any{"$ref": "#"}, "d": map[string]any{"$ref": "#/$defs/d20"}}, "$defs": many}}},
		"outputs": map[string]any{"x": "{{ a?.self?.self?.self?.d?.a?.b?.a?.b }}"}})
	require.NoError(t, err)
	workflow, err := flow.Parse("", source, set)
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	require.Empty(t, lines(check.Graph(graph, nil, nil)))
}

// No bundled workflow is blamed, whatever is known of the tools.
func TestBundledWorkflows(t *testing.T) {
	files := library.New(library.Layer{Files: savant.Files})
	names, err := fs.Glob(savant.Files, "workflows/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range files.Names() {
		graph, err := files.Graph(name)
		require.NoError(t, err)
		require.Empty(t, lines(check.Graph(graph, nil, nil)), name)
	}
}

// What guards a read against the skip of its step, and what does not.
func TestReadsOfStepsThatMayBeSkipped(t *testing.T) {
	const workflow = `name: w
version: "1"
params: {go: {type: boolean, default: false}, n: {type: integer, default: 1}, list: {default: [1]}}
steps:
  - {id: hi, when: params.go && params.n > 0, call: far.open, capture_as: hi}
  - {id: other, when: "!(params.go and n > 0)", call: far.open, capture_as: other}
  - {id: sure, call: far.open, capture_as: sure}
  - {id: each, foreach: params.list, when: item > 0, call: far.open, capture_as: each}
  - {id: needs, join: success, call: far.open, input_template: {x: "{{ hi.x }}"}, capture_as: needs}
  - {id: always, when: true, call: far.open, capture_as: always}
  - %s
outputs: {all: ["{{ hi }}", "{{ other.x }}"]}
summary: "{{ hi.x }}"
artifacts: [{name: a, from: other}]
`
	step := func(when, expression string) string {
		if when != "" {
			when = fmt.Sprintf("when: %q, ", when)
		}
		return fmt.Sprintf("{id: p, %scall: flow.set, input_template: {value: %q}, capture_as: p}", when, "{{ "+expression+" }}")
	}
	for _, written := range []string{
		step("", "hi?.out"), step("", "hi ?? 0"), step("", "(hi ?? {})?.out"), step("", "each"), step("", "sure.x"), step("", "always.x"),
		step("params.go && params.n > 0", "hi.out"), step("n > 0 && go && sure.x", "state.hi.out"), step("steps.hi.status == 'done'", "hi.out"),
		step("steps.hi.status != 'skipped'", "hi.out"), step("steps.hi.status in ['done', 'failed']", "hi.out"), step("hi?.out != null", "hi.out"),
		step("hi?.ok ?? false", "hi.out"), step("not (hi?.bad ?? true)", "hi.out"), step("len(hi?.list ?? []) > 0", "hi.list"), step("(hi?.name ?? '') contains 'x'", "hi.name"),
		step("", "steps.hi.reason == nil ? hi.out : 0"), step("", "steps.hi.status == 'done' ? hi.out : 0"), step("", "'done' == steps.hi.status ? hi.out : 0"), step("", "steps.hi.status == 'skipped' ? 0 : hi.out"),
		step("", "go && n > 0 ? hi.out : 0"), step("", "!(params.go && n > 0) ? 0 : hi.out"), step("", "steps.hi.status == 'done' && hi.ok"), step("", "steps.hi.status == 'skipped' || hi.ok"),
		step("", "hi ?? other"), step("", "hi?.x ?? other.x"), step("", "steps.hi.status == 'done' ? hi.x : other.x"), step("", "steps.hi.status == 'skipped' ? other.x : hi.x"),
		step("go && n > 0", "needs.x"), step("", "steps.needs.status == 'done' ? needs.x + hi.x : 0"), step("", "hi?.x == 'x' ? hi.y : 0"), step("", "any(sure.list, steps.hi.status == 'done' && # == hi.x)"), step("", "type(hi?.x) != 'nil' ? hi.x : 0"),
		"{id: p, foreach: 'steps.hi.status == \"done\" ? hi.list : []', call: far.open}",
		"{id: p, foreach: params.list, when: \"item > 1 && steps.hi.status == 'done'\", call: far.open, input_template: {x: '{{ hi.x }}'}}",
		"{id: p, join: success, call: far.open, input_template: {x: '{{ hi.x }}'}}",
		"{id: p, call: flow.assert, input_template: {that: '{{ sure.ok }}', message: 'not {{ hi.x }}'}}",
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(workflow, written))), written)
	}
	for written, fix := range map[string]string{
		step("", "hi.out"): "hi?.out", step("", "state.hi.out ?? 0"): "hi?.out", step("", "hi"): "hi ?? …", step("", "hi.a?.b[0]"): "hi?.a?.b[0]", step("hi.ok", "hi.out"): "hi?.ok",
		step("params.go", "hi.out"): "hi?.out", step("params.go || n > 0", "hi.out"): "hi?.out", step("steps.other.status == 'done'", "hi.out"): "hi?.out", step("steps.sure.status == 'done'", "hi.out"): "hi?.out",
		step("", "steps.hi.status == 'done' ? 0 : hi.out"): "hi?.out", step("", "sure?.x != null ? hi.out : 0"): "hi?.out", step("", "hi != null ? hi.out : 0"): "hi ?? …",
		step("", "steps.hi.status == 'done' || hi.ok"): "hi?.ok", step("", "hi == 1 || hi.ok"): "hi ?? …", step("hi?.out == null", "hi.out"): "hi?.out", step("", "{x: [1, hi.out]}"): "hi?.out",
		"{id: p, foreach: hi.list, call: far.open, input_template: {x: '{{ hi.x }}'}}":                     "hi?.list",
		"{id: p, foreach: params.list, when: item > 1, call: far.open, input_template: {x: '{{ hi.x }}'}}": "hi?.x",
		"{id: p, call: far.open, extract: 'result.x + hi.x'}":                                              "hi?.x",
	} {
		found := report(t, fmt.Sprintf(workflow, written))
		require.Empty(t, found.Errors, written)
		require.Len(t, found.Warnings, 1, written)
		require.Contains(t, found.Warnings[0].Message, `step "hi" may be skipped (when params.go && params.n > 0), and this hard read then skips step "p" too: write `+fix+", or", written)
		require.Equal(t, 11, found.Warnings[0].Line, written)
	}
}

// optionals has fields that may be absent, and values that may be null, of every origin.
const optionals = `name: w
version: "1"
params:
  cfg: {type: object, required: [a], properties: {a: {type: string}, b: {type: string}}}
  set: {type: object, default: {a: x}, properties: {a: {type: string}}}
  open: {}
  any: {type: object}
  on: {type: boolean, default: true}
steps:
  - id: a
    call: llm.generate
    input_template: {task: x}
    success_schema:
      type: object
      required: [text, must, list, choice, rules]
      properties:
        text: {type: string}
        note: {type: string}
        must: {type: object, properties: {deep: {type: string}}}
        may: {type: object, required: [deep], properties: {deep: {type: string}}}
        list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}, big: {type: boolean}}}}
        choice: {type: object, properties: {x: {}, y: {}}, anyOf: [{required: [x]}, {required: [y]}]}
        rules: {type: object, properties: {ok: {type: boolean}, why: {type: string}}, required: [ok], if: {properties: {ok: {const: false}}}, then: {required: [why]}}
    capture_as: a
  - {id: b, call: far.part, capture_as: b}
  - {id: both, call: far.part, success_schema: {type: object, required: [found], properties: {found: {type: object, properties: {n: {}, m: {}}}}}, capture_as: both}
  - {id: some, foreach: a.list, when: item.n > 1, call: flow.set, input_template: {value: {out: "{{ item.n }}"}}, capture_as: some}
  - {id: tried, foreach: a.list, on_failure: continue, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [out], properties: {out: {}}}, capture_as: tried}
  - {id: once, on_failure: continue, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [out], properties: {out: {}}}, capture_as: once}
  - {id: child, call: flow.run, input_template: {workflow: child, params: {on: "{{ params.on }}"}}, capture_as: child}
  - %s
outputs: {all: ["{{ [a, b, both, some, tried, once, child, params] }}"]}
`

const optionalsChild = `name: child
version: "1"
params: {on: {type: boolean, default: true}}
steps:
  - {id: x, when: params.on, call: flow.set, input_template: {value: {n: 1}}, capture_as: x}
  - {id: y, call: flow.set, input_template: {value: {n: 1}}, capture_as: y}
  - {id: z, when: params.on, call: flow.set, input_template: {value: "{{ x.n }}"}, capture_as: z}
outputs: {x: "{{ x }}", y: "{{ y }}", z: {of: "{{ z }}"}, either: "{{ x ?? y }}"}
`

// A field that is declared and not required, and a value that may be null, are read
// with ?.; where they are not, the finding says how.
func TestOptionalFields(t *testing.T) {
	files := library.New(library.Layer{Files: fstest.MapFS{"workflows/child.yaml": {Data: []byte(optionalsChild)}}})
	findings := func(step string) check.Report {
		workflow, err := files.Parse("", []byte(fmt.Sprintf(optionals, step)))
		require.NoError(t, err, step)
		graph, err := files.Compile(workflow)
		require.NoError(t, err, step)
		return check.Graph(graph, tools, nil)
	}
	set := func(when, expression string) string {
		if when != "" {
			when = fmt.Sprintf("when: %q, ", when)
		}
		return fmt.Sprintf("{id: p, %scall: flow.set, input_template: {value: %q}, capture_as: p}", when, "{{ "+expression+" }}")
	}
	for _, step := range []string{
		set("", "a.text"), set("", "a?.note"), set("", "a?.note ?? 1"), set("", "a.must?.deep"), set("", "a?.may?.deep"), set("", "map(a.list, .n)"), set("", "map(a.list, #?.big)"),
		set("", "a?.note != null ? a.note : 1"), set("", "a?.note == null ? 1 : a.note"), set("a?.note == 'x'", "a.note"), set("'note' in a && a.note == 'x'", "a.note"),
		set("", "'note' in a ? a.note : 1"), set("", "a?.may != null && a.may.deep == 'x'"), set("", "(a?.note ?? '') != '' ? a.note : 1"), set("", "len(a?.note ?? '') > 0 ? a.note : 1"),
		set("", "filter(a.list, #?.big ?? false) | map(.big)"), set("", "map(filter(a.list, #?.big != null), .big)"), set("", "filter(a.list, #?.big != null && .big)"), set("", "map(a.list, #?.big != null && #.big)"),
		set("", "find(a.list, #?.big == true).big"), set("", "a.choice.x"), set("", "a.rules.ok"), set("", "a.rules.why"), set("", "type(a?.note) == 'string' ? a.note : 1"),
		set("", "b?.found?.n"), set("", "both.found?.n"), set("", "map(filter(some, # != nil), .out)"), set("", "map(filter(some, # != null), .out)"), set("", "map(some, #?.out)"), set("", "map(tried, # == nil ? 0 : #.out)"),
		set("", "map(filter(tried, #?.out != null), .out)"), set("", "some[0]?.out"), set("", "once?.out"), set("", "steps.once.status == 'done' ? once.out : 0"), set("steps.once.status != 'failed'", "once.out"),
		set("", "once == null ? 0 : once.out"), set("", "child.y.n"), set("", "child.x?.n"), set("", "child.either.n"), set("", "child.x"), set("child.x != null", "child.x.n"),
		set("", "params.cfg?.a"), set("params.cfg != null", "params.cfg.a"), set("", "params.cfg == nil ? '' : cfg.a"), set("", "params.set?.a"), set("", "params.open.x"), set("", "params.any.x"), set("", "(params.cfg ?? {a: 1}).a"),
		set("", "steps.once.error?.code"), set("steps.once.status == 'failed'", "steps.once.error.code"), set("", "steps.once.error != null ? steps.once.error.code : 1"),
		set("", "steps.once.error == nil ? once.out : 0"), "{id: p, join: success, deps: [once], call: flow.set, input_template: {value: '{{ once.out }}'}}",
		"{id: p, foreach: some, as: each, call: flow.set, input_template: {value: '{{ each?.out }}'}}", "{id: p, foreach: 'filter(some, # != nil)', as: each, call: flow.set, input_template: {value: '{{ each.out }}'}}",
		"{id: p, foreach: some, as: each, when: each != null, call: flow.set, input_template: {value: '{{ each.out }}'}}",
	} {
		require.Empty(t, lines(findings(step)), step)
	}
	for step, fix := range map[string]string{
		set("", "a.note"): "error: a?.note", set("", "state.a.note ?? 1"): "error: state.a?.note", set("a.note == 'x'", "1"): "error: a?.note", set("", "a.must.deep"): "error: a.must?.deep",
		set("", "a?.may.deep"): "error: a?.may?.deep", set("", "a.list[0].big"): "error: a.list[0]?.big", set("", "map(a.list, .big)"): "error: #?.big", set("", "filter(a.list, .big)"): "error: #?.big",
		set("", "any(a.list, #.big)"): "error: #?.big", set("", "a?.note != null ? 1 : a.note"): "error: a?.note", set("", "a?.may != null ? a.note : 1"): "error: a?.note", set("", "a.text != '' ? a.note : 1"): "error: a?.note",
		set("", "a?.note == null || true ? a.note : 1"): "error: a?.note", set("", "let x = a; x.note"): "error: x?.note",
		set("", "b.found"): "warning: b?.found", set("", "b?.found.n"): "warning: b?.found?.n", set("", "both.found.n"): "error: both.found?.n", set("", "both.found.m"): "error: both.found?.m",
		set("", "map(some, .out)"): "error: #?.out, or read it of filter(some, # != nil)", set("", "map(state.tried, #.out)"): "error: #?.out, or read it of filter(state.tried, # != nil)", set("", "some[0].out"): "error: some[0]?.out",
		set("", "sum(some, .out)"): "error: #?.out, or read it of filter(some, # != nil)", set("", "first(tried)?.out ?? tried[1].out"): "error: tried[1]?.out", set("", "once.out"): "error: once?.out", set("steps.tried.status == 'done'", "once.out"): "error: once?.out",
		set("", "child.x.n"): "error: child.x?.n", set("", "params.cfg.a"): "error: params.cfg?.a", set("", "cfg?.b"): "", set("", "params.set.a"): "error: params.set?.a", set("", "(params.cfg ?? {}).b"): "error: (…)?.b",
		"{id: p, foreach: some, as: each, call: flow.set, input_template: {value: '{{ each.out }}'}}": "error: each?.out",
	} {
		found := lines(findings(step))
		if fix == "" {
			require.Empty(t, found, step)
			continue
		}
		severity, spelled, _ := strings.Cut(fix, ": ")
		require.Len(t, found, 1, step)
		require.True(t, strings.HasPrefix(found[0], severity+": ") && strings.HasSuffix(found[0], ": write "+spelled), "%s: %s", step, found[0])
	}
}

// TestPartsThatReadNothing: parts of an expression that are evaluated before a run mean
// what they mean in it, whatever the brackets around them.
func TestPartsThatReadNothing(t *testing.T) {
	for _, expression := range []string{
		`int(("x" + "12")[1:])`, `(1..-(2))[0:1]`, `("a" + "b")[1:] == "b" ? 1 : 1 / 0`, `fromJSON(("x" + "{}")[1:])`,
		`let s = "x" + "12"; int(s[1:])`, `repeat("a", len(("ab" + "c")[1:]) - 2)`,
	} {
		require.Empty(t, lines(report(t, rendering(expression))), expression)
	}
	for _, expression := range []string{`int(("x" + "12")[0:])`, `(1..-(-2))[0 / 0]`, `let s = "x" + "12"; int(s[0:])`, `let n = (1 - 1) * 2; 5 / n`} {
		require.Len(t, lines(report(t, rendering(expression))), 1, expression)
	}
}
