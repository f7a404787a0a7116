package check_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/schemas"
	"savant/think/check"
	"savant/think/flow"
	"savant/think/library"
)

// tools are those of a server of Savant's own and of a mounted one.
func tools(name string) (check.Tool, bool) {
	known := map[string]check.Tool{
		"own.log": {Own: true,
			Input:  json.RawMessage(`{"type":"object","required":["repo"],"properties":{"repo":{"type":"string","minLength":1},"limit":{"type":"integer","maximum":50},"paths":{"type":"array","items":{"type":"string"}},"order":{"enum":["asc","desc"]}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"commits":{"type":"array","items":{"type":"object","properties":{"hash":{"type":"string"},"lines":{"type":"integer"}}}},"more":{"type":"boolean"}}}`)},
		"far.find": {
			Input:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"where":{"$ref":"#/$defs/place"}},"additionalProperties":false,"$defs":{"place":{"type":"object","properties":{"folder":{"type":"string"}},"additionalProperties":false}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"found":{"type":"array","items":{"type":"string"}}}}`)},
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
      required: [text, risk]
      properties:
        text: {type: string}
        risk: {enum: [low, high]}
        size: {type: integer}
        ok: {type: boolean}
        parts: {type: array, items: {$ref: "#/$defs/part"}}
      additionalProperties: false
      $defs: {part: {type: object, properties: {path: {type: string}, n: {type: integer}}, additionalProperties: false}}
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
    input_template: {message: m, schema: {type: object, properties: {why: {type: string}}, additionalProperties: false}}
    capture_as: asked
  - id: approved
    call: human.approve
    input_template: {message: m}
    capture_as: approved
%s
outputs:
  all: ["{{ params }}", "{{ answer }}", "{{ log }}", "{{ found }}", "{{ free }}", "{{ each }}", "{{ asked }}", "{{ approved }}"]
`

func report(t *testing.T, source string) check.Report {
	t.Helper()
	files := library.New(library.Layer{Files: savant.Files})
	workflow, err := files.Parse("", []byte(source))
	require.NoError(t, err, source)
	graph, err := files.Compile(workflow)
	require.NoError(t, err, source)
	return check.Graph(graph, tools)
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

func TestExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		`answer.txt`:                               `error: answer has no field "txt": did you mean "text"? (the success_schema of step answer)`,
		`state.answer.parts[0].pth`:                `error: state.answer.parts[0] has no field "pth": did you mean "path"?`,
		`map(answer.parts, .pth)`:                  `error: # has no field "pth": did you mean "path"?`,
		`map(answer.parts, #.pth)`:                 `error: # has no field "pth"`,
		`answer?.txt ?? 1`:                         `warning: answer has no field "txt"`,
		`log.comits`:                               `error: log has no field "comits": did you mean "commits"? (the output of own.log)`,
		`log.commits[0].hsh`:                       `error: log.commits[0] has no field "hsh": did you mean "hash"?`,
		`log.commits.hash`:                         `error: log.commits is a list and has no field "hash"`,
		`found.fond`:                               `warning: found has no field "fond": did you mean "found"? (the output of far.find)`,
		`each[0].thrice`:                           `error: each[0] has no field "thrice"`,
		`asked.wy`:                                 `error: asked has no field "wy": did you mean "why"?`,
		`approved.yes`:                             `error: approved has no field "yes": it has approved, comment`,
		`answer.text.length`:                       `write len(…)`,
		`answer.size.x`:                            `error: answer.size is an integer and has no field "x"`,
		`answer.risk == "hihg"`:                    `error: this comparison is never true: answer.risk is one of "low", "high"; did you mean "high"?`,
		`"medium" == answer.risk`:                  `error: this comparison is never true: answer.risk is one of "low", "high"`,
		`params.mode == "quick"`:                   `error: this comparison is never true: params.mode is one of "fast", "slow"`,
		`answer.size == "3"`:                       `error: this comparison is never true: an integer is never equal to a string`,
		`answer.risk != "medium"`:                  `warning: this comparison is always true`,
		`steps.answer.status == "success"`:         `error: this comparison is never true: steps.answer.status is one of "done", "skipped", "failed"; did you mean "done"?`,
		`steps.answer.status in ["ok", "done"]`:    `error: steps.answer.status is never equal to this`,
		`type(open) == "object"`:                   `did you mean "map"?`,
		`any(answer.parts, .path == 3)`:            `error: this comparison is never true`,
		`filter(answer.parts, .path)`:              `error: a predicate must be true or false, not a string`,
		`answer.text and true`:                     `error: the left side of and must be true or false, not a string`,
		`not answer.size`:                          `error: the operand of not must be true or false`,
		`answer.text ? 1 : 2`:                      `error: a condition must be true or false`,
		`answer.text + 1`:                          `error: + needs two numbers or two strings, not a string and an integer`,
		`answer.text < 1`:                          `error: a string cannot be compared with a number by <`,
		`answer.parts * 2`:                         `error: the left side of * must be a number, not a list`,
		`len(answer.size)`:                         `error: the argument of len must be`,
		`map(answer, .x)`:                          `error: the first argument of map must be a list, not an object`,
		`join(answer.text, ",")`:                   `error: the argument of join must be a list, not a string`,
		`"a" in answer.text`:                       `use contains to search a string`,
		`answer.size contains "a"`:                 `error: the left side of contains must be a string`,
		`upper(answer.size)`:                       `error: the argument of upper must be a string`,
		`let a = answer; a.txt`:                    `error: a has no field "txt"`,
		`first(answer.parts).pth`:                  `has no field "pth"`,
		`find(answer.parts, .n > 1).pth`:           `has no field "pth"`,
		`sortBy(answer.parts, .n)[0].pth`:          `has no field "pth"`,
		`answer.parts[1:][0].pth`:                  `has no field "pth"`,
		`concat(answer.parts, answer.parts)[0].x`:  `has no field "x"`,
		`flatten([answer.parts])[0].x`:             `has no field "x"`,
		`({a: 1}).b`:                               `has no field "b"`,
		`(answer.ok ? answer : log).neither`:       `has no field "neither"`,
		`params.count.x`:                           `error: params.count is an integer and has no field "x"`,
		`reduce(answer.parts, #acc + #.nn, 0)`:     `has no field "nn"`,
		`groupBy(answer.parts, .path)["a"][0].nn`:  `has no field "nn"`,
		`answer.parts | map(.pth)`:                 `has no field "pth"`,
		`answer["txt"]`:                            `error: answer has no field "txt"`,
		`answer.size > "1"`:                        `cannot be compared`,
		`split(answer.text, ",")[0].x`:             `is a string and has no field "x"`,
		`string(answer.size).x`:                    `is a string and has no field "x"`,
		`answer.text matches answer.size`:          `error: the right side of matches must be a string`,
		`answer.text[0] == 1`:                      `never true`,
		`sum(answer.parts, .m)`:                    `has no field "m"`,
		`count(answer.parts, .n)`:                  `error: a predicate must be true or false, not an integer`,
		`-answer.text`:                             `error: the operand of - must be a number`,
		`1..answer.text`:                           `error: the right side of .. must be a number`,
		`{"x": answer.txt}`:                        `error: answer has no field "txt"`,
		`[answer.txt]`:                             `error: answer has no field "txt"`,
		`answer.ok == "true"`:                      `error: this comparison is never true: a boolean is never equal to a string`,
		`run.id == 3`:                              `never true`,
		`len(answer.parts) == "2"`:                 `never true`,
		`fromJSON(answer.text).anything`:           ``,
		`keys(free)[0] == 1`:                       `never true`,
		`toPairs(free)[0][1].x`:                    ``,
		`(free ?? answer).txt`:                     ``,
		`max(answer.parts)`:                        ``,
		`params.maybe == null`:                     ``,
		`answer.text == null`:                      `warning: answer.text is never null, and the step fails if it is missing: to ask whether it exists write answer?.text`,
		`null != answer.size`:                      `write answer?.size`,
		`answer.parts == "x"`:                      `error: this comparison is never true: a list is never equal to a string`,
		`each != 2`:                                `warning: this comparison is always true: a list is never equal to an integer`,
		`answer.risk == "low" ? "x" : answer.text`: ``,
	} {
		found := lines(report(t, rendering(expression)))
		if want == "" {
			require.Empty(t, found, expression)
			continue
		}
		require.Len(t, found, 1, expression)
		require.Contains(t, found[0], want, expression)
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

func TestSteps(t *testing.T) {
	for _, c := range []struct{ steps, at, want string }{
		{"  - {id: p, call: flow.set, when: answer.size, input_template: {value: 1}}", "answer.size", `error: when must give true or false, not an integer`},
		{"  - {id: p, call: flow.set, when: answer.parts, input_template: {value: 1}}", "answer.parts", `to ask whether it is empty write len(…) > 0`},
		{"  - {id: p, call: flow.set, foreach: answer, input_template: {value: 1}}", "answer,", `error: foreach needs a list, not an object: its list is .parts`},
		{"  - {id: p, call: flow.set, foreach: params.count, input_template: {value: 1}}", "params.count", `error: foreach needs a list, not an integer`},
		{"  - {id: p, call: flow.set, foreach: answer.parts, input_template: {value: \"{{ item.pth }}\"}}", "", `item has no field "pth"`},
		{"  - {id: p, call: flow.set, foreach: answer.parts, when: item.n == \"1\", input_template: {value: 1}}", "", `never true`},
		{"  - {id: p, call: flow.assert, input_template: {that: \"{{ answer.size }}\"}}", "", `error: that must give true or false, not an integer`},
		{"  - {id: p, call: flow.assert, input_template: {that: \"answer.ok\"}}", "", `write "{{ answer.ok }}"`},
		{"  - {id: p, call: flow.assert, input_template: {that: \"is {{ answer.ok }}\"}}", "", `the whole text must be one {{ }}`},
		{"  - {id: p, call: own.log, extract: result.comits, input_template: {repo: .}}", "comits", `error: result has no field "comits"`},
		{"  - {id: p, call: own.log, input_template: {rpeo: .}}", "rpeo", `error: own.log has no argument "rpeo": did you mean "repo"?`},
		{"  - {id: p, call: own.log, input_template: {repo: ., number: 3}}", "number", `error: own.log has no argument "number"; it takes limit, order, paths, repo`},
		{"  - {id: p, call: own.log}", "{id: p", `error: own.log needs the argument repo`},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: five}}", "five", `error: the argument limit of own.log does not fit: expected integer`},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: 51}}", "51", `error: the argument limit of own.log does not fit: expected at most 50`},
		{"  - {id: p, call: own.log, input_template: {repo: ., limit: \"{{ answer.text }}\"}}", "{{ answer.text", `error: the argument limit of own.log must be null or an integer, not a string`},
		{"  - {id: p, call: own.log, input_template: {repo: \"{{ answer.parts }}\"}}", "", `error: the argument repo of own.log must be a string, not a list`},
		{"  - {id: p, call: own.log, input_template: {repo: ., order: \"{{ answer.ok ? 'up' : 'down' }}\"}}", "", `error: the argument order of own.log must be one of`},
		{"  - {id: p, call: own.log, input_template: {repo: \"\"}}", "", `error: the argument repo of own.log does not fit`},
		{"  - {id: p, call: far.find, input_template: {where: {foldr: x}}}", "", `the argument where of far.find does not fit`},
		{"  - {id: p, call: far.find, input_template: {where: {foldr: \"{{ answer.text }}\"}}}", "foldr", `has no field "foldr": did you mean "folder"?`},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello, params: {name: 3}}}", "3}", `error: the parameter name of hello does not fit: expected string, got 3`},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello, params: {name: \"{{ answer.size }}\"}}}", "", `error: the parameter name of hello must be null or a string, not an integer`},
		{"  - {id: p, call: flow.run, input_template: {workflow: hello}, capture_as: h}\n  - {id: q, call: flow.set, input_template: {value: \"{{ h.nothing }}\"}}", "", `h has no field "nothing"`},
		{"  - {id: p, call: think.plan, input_template: {workflow: x}}", "", `error: think.plan controls runs`},
		{"  - {id: p, call: agent.run, input_template: {goal: x}}", "", `error: agent.run starts a separate run of the agent`},
		{"  - {id: p, call: agent.run, witness: required}", "", `error: agent.run starts a separate run of the agent`},
		{"  - {id: p, call: llm.generate, witness: required, input_template: {task: x}}", "witness", `error: llm.generate is not a tool`},
		{"  - {id: p, call: human.approve, witness: required, input_template: {message: x}}", "witness", `error: human.approve is not a tool`},
		{"  - {id: p, call: llm.generate, input_template: {task: \"{% if x %}a{% endif %}\"}}", "{% if", `warning: {% if x %} stays text`},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${{ params.name }}\"}}", "${{", `warning: the $ of ${{ }} stays text`},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${name}\"}}", "${name", `warning: ${name} stays text: write {{ name }}`},
		{"  - {id: p, call: llm.generate, input_template: {task: \"a ${params.name}\"}}", "${params", `warning: ${params.name} stays text: write {{ params.name }}`},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, rationale: \"for {{ name }}\"}", "{{ name", `warning: a rationale is not a template`},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, requird: [a]}}", "requird", `error: "requird" is not a keyword of JSON Schema and has no effect: did you mean "required"?`},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: object, required: [b], properties: {a: {}}, additionalProperties: false}}", "required", `error: no value can fit: "b" is required`},
		{"  - {id: p, call: human.ask, input_template: {message: m, choices: [a, b]}}", "choices", `warning: choices offers a person nothing to choose from: write schema: {enum: […]}`},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {properties: {a: {min_length: 3}}}}", "min_length", `did you mean "minLength"?`},
		{"  - {id: p, call: llm.generate, input_template: {task: x}, success_schema: {type: string, nullable: true}}", "nullable", `warning: "nullable" is not a keyword of JSON Schema and has no effect: write type: [string, null]`},
		{"  - {id: p, call: human.ask, input_template: {message: x, schema: {type: object, propertis: {}}}}", "propertis", `did you mean "properties"?`},
	} {
		found := report(t, fmt.Sprintf(frame, c.steps))
		all := append(found.Errors, found.Warnings...)
		require.Len(t, all, 1, "%s: %v", c.steps, all)
		require.Contains(t, lines(found)[0], c.want, c.steps)
		source := strings.Split(fmt.Sprintf(frame, c.steps), "\n")
		require.Positive(t, all[0].Line, c.steps)
		require.Contains(t, all[0].Source, "^", c.steps)
		if c.at != "" {
			require.True(t, strings.HasPrefix(source[all[0].Line-1][all[0].Column-1:], c.at), "%s: %d:%d", c.steps, all[0].Line, all[0].Column)
		}
	}
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
		"  - {id: p, call: own.log, input_template: {repo: .}, success_schema: {type: object, properties: {commits: {}, extra: {}}}, capture_as: e}\n  - {id: q, call: flow.set, input_template: {value: \"{{ e.extra }}\"}}",
		"  - {id: p, call: flow.set, when: false, input_template: {value: 1}}",
		"  - {id: p, call: flow.set, foreach: [1, 2], when: item != 2, input_template: {value: \"{{ item + 1 }}\"}}",
	} {
		require.Empty(t, lines(report(t, fmt.Sprintf(frame, steps))), steps)
	}
}

// The end of a workflow is checked as its steps are.
func TestTheEnd(t *testing.T) {
	for _, c := range []struct{ end, want string }{
		{"  x: \"{{ answer.txt }}\"", `has no field "txt"`},
		{"summary: \"got {{ answer.txt }}\"", `has no field "txt"`},
		{"artifacts: [{name: a, from: answer.txt}]", `has no field "txt"`},
	} {
		found := lines(report(t, fmt.Sprintf(frame, "")+c.end+"\n"))
		require.Len(t, found, 1, c.end)
		require.Contains(t, found[0], "error: answer "+c.want)
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
		notes = append(notes, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Message))
	}
	require.Equal(t, []string{`3:20 the parameter "unused" is never read`, `5:3 the schema "Lonely" is never used`, `13:5 the capture "nobody" is never read`}, notes)
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
		"outputs": map[string]any{"x": "{{ a.self.self.self.d.a.b.a.b }}"}})
	require.NoError(t, err)
	workflow, err := flow.Parse("", source, set)
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil)
	require.NoError(t, err)
	require.Empty(t, lines(check.Graph(graph, nil)))
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
		require.Empty(t, lines(check.Graph(graph, nil)), name)
	}
}
