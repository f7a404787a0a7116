package flow_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
)

// seeds returns the workflows that ship and those of the scenarios.
func seeds(f *testing.F) [][]byte {
	var all [][]byte
	bundled, err := filepath.Glob("../../workflows/*.yaml")
	require.NoError(f, err)
	for _, file := range bundled {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		all = append(all, data)
	}
	scenarios, err := filepath.Glob("../testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range scenarios {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		for _, part := range archive.Files {
			if filepath.Ext(part.Name) == ".yaml" {
				all = append(all, part.Data)
			}
		}
	}
	return all
}

func noSchemas(t require.TestingT) *schemas.Set {
	set, err := schemas.Load()
	require.NoError(t, err)
	return set
}

// Whatever the bytes, parsing ends without a panic, twice the same, and every
// problem has a code and a place. What parses can be linked, started and shown.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		workflow, err := flow.Parse("", src, noSchemas(t))
		_, again := flow.Parse("", src, noSchemas(t))
		require.Equal(t, asJSON(t, err), asJSON(t, again))
		if err != nil {
			placed(t, err)
			return
		}
		graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
		if err != nil {
			placed(t, err)
			return
		}
		begin(t, graph)
	})
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := jsonvalue.Encode(value)
	require.NoError(t, err)
	return string(data)
}

// placed requires that an error says where in the file each problem is.
func placed(t *testing.T, err error) {
	t.Helper()
	problem := fault.From(err)
	require.NotEqual(t, fault.Internal, problem.Code, "%v", err)
	require.NotEmpty(t, problem.Diagnostics)
	for _, d := range problem.Diagnostics {
		require.NotEmpty(t, d.Code)
		require.NotEmpty(t, d.Message)
		require.Positive(t, d.Line, "%+v", d)
		require.Positive(t, d.Column, "%+v", d)
	}
	require.Less(t, len(asJSON(t, problem)), 20_000)
}

// begin starts a run where the parameters have defaults, and looks at it.
func begin(t *testing.T, graph *flow.Graph) {
	t.Helper()
	require.NotEmpty(t, graph.Mermaid())
	require.NotEmpty(t, graph.Picture().Nodes)
	require.NotNil(t, graph.Workflow.Parsed())
	params, err := graph.Workflow.Bind(map[string]any{})
	if err != nil {
		require.Equal(t, fault.InvalidParams, fault.From(err).Code)
		return
	}
	run, now := graph.Start("r", params, flow.Terms{PlainFailures: true})
	_, again := graph.Start("r", params, flow.Terms{PlainFailures: true})
	require.Equal(t, now.Hash, again.Hash)
	require.Equal(t, asJSON(t, now.Instructions), asJSON(t, again.Instructions))
	require.Equal(t, asJSON(t, now.Final), asJSON(t, again.Final))
	if blocked := now.Blocked; blocked != nil {
		for _, d := range blocked.Diagnostics {
			require.Positive(t, d.Line, "%+v", d)
			require.Positive(t, d.Column, "%+v", d)
		}
	}
	whole, missing := run.View().Snapshot(flow.Whole)
	require.Empty(t, missing)
	for _, step := range whole.Steps {
		found, err := run.View().Step(step.ID)
		require.NoError(t, err)
		require.Equal(t, step.ID, found.ID())
		explained, _ := run.View().Explain(found)
		require.Equal(t, step.ID, explained.StepID)
	}
}

const fussy = `
name: fussy
version: "1"
steps:
  - id: a
    call: tool.read
    extract: '{n: result?.n ?? 0, list: result?.list ?? [], text: string(result?.text ?? "")}'
    success_schema: {type: object, properties: {n: {type: [integer, "null"]}, list: {type: array, maxItems: 3}}}
    on_failure: continue
    capture_as: a
  - id: b
    call: tool.read
    success_schema: {anyOf: [{type: integer}, {type: object, required: [n]}, {type: string, pattern: "^x"}]}
    on_failure: continue
    capture_as: b
  - id: c
    call: tool.read
    input_template: {a: "{{ a }}", b: "{{ b }}"}
    capture_as: c
  - id: d
    call: flow.set
    foreach: a?.list ?? []
    input_template: {value: "{{ item }} of {{ c }}"}
    capture_as: d
outputs: {a: "{{ a }}", b: "{{ b }}", c: "{{ c }}", d: "{{ d }}"}
artifacts: [{name: c, from: c}, {name: t, type: text, from: c}]
summary: "{{ c }}"
`

// Whatever a result is, a run takes it without a panic and, given the same
// again, comes to the same end.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{`null`, `1`, `1.0`, `9007199254740993`, `1e3`, `"x"`, `"{\"n\": 1}"`, `{"n":1,"list":[1,{}]}`,
		`{"content":[{"type":"text","text":"{\"n\":2}"}]}`, `{"isError":true,"content":[]}`, `{"structuredContent":{"n":null}}`,
		`[[[[]]]]`, `{"list":[1,2,3,4]}`, `"` + "```json\\n[1]\\n```" + `"`, `-0`, `-0.0`, `123456789012345678901234567890`, `{"{{ a }}":"{{ a }}"}`} {
		f.Add([]byte(seed))
	}
	workflow, err := flow.Parse("fussy.yaml", []byte(fussy), noSchemas(f))
	require.NoError(f, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := jsonvalue.Decode(data); err != nil {
			t.Skip()
		}
		require.Equal(t, answerAll(t, graph, data), answerAll(t, graph, data))
	})
}

// answerAll answers every instruction with one result, and returns all that
// was seen.
func answerAll(t *testing.T, graph *flow.Graph, data []byte) []string {
	t.Helper()
	run, now := graph.Start("r", map[string]any{}, flow.Terms{PlainFailures: true})
	seen := []string{now.Hash}
	for len(now.Instructions) > 0 && now.Blocked == nil {
		require.Less(t, len(seen), 100, "the run does not end")
		result, err := jsonvalue.Decode(data)
		require.NoError(t, err)
		digest, err := jsonvalue.Digest(result)
		require.NoError(t, err)
		next := now.Instructions[0]
		step, err := run.View().Step(next.StepID)
		require.NoError(t, err)
		now, err = run.Settle(step, flow.Answer{Attempt: next.Attempt, Result: result, Digest: digest})
		require.NoError(t, err)
		seen = append(seen, asJSON(t, now.Rejected), asJSON(t, now.Instructions), now.Hash, asJSON(t, now.Final))
		version, err := run.Answered(step, next.Attempt, digest)
		require.NoError(t, err)
		require.Equal(t, now.Version, version, "the answer is not known to have been given")
	}
	whole, missing := run.View().Snapshot(flow.Whole)
	require.Empty(t, missing)
	return append(seen, asJSON(t, whole))
}
