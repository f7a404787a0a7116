package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/flow"
)

// The first edition counts every hard read that is spelled out, and a run of it goes on
// doing so; since the second a read counts if it is evaluated.
func TestReadsByEdition(t *testing.T) {
	const branches = `name: w
version: "1.0"
params: {bug: {type: boolean, default: true}}
steps:
  - {id: investigate, when: params.bug, call: llm.generate, input_template: {task: investigate}, capture_as: inv}
  - {id: plan, when: not params.bug, call: llm.generate, input_template: {task: plan}, capture_as: pl}
  - {id: fix, call: llm.generate, input_template: {task: "fix by {{ state.inv ?? state.pl }}"}, capture_as: f}
outputs: {fix: "{{ f }}", which: "{{ state.inv ?? state.pl }}"}
`
	const guarded = `name: w
version: "1.0"
params: {go: {type: boolean, default: false}}
steps:
  - {id: hi, when: params.go, call: llm.generate, input_template: {task: hi}, capture_as: hi}
  - {id: c, call: llm.generate, input_template: {task: "{{ steps.hi.status == 'skipped' ? 'skippy' : hi.out }}"}, capture_as: f}
outputs: {which: "{{ steps.hi.status == 'done' ? hi.out : 'none' }}"}
`
	for name, c := range map[string]struct {
		workflow      string
		first, second any // outputs.which
		ran           [2]int
		answers       []string
		task          string
	}{
		"a ?? b":            {branches, nil, "x", [2]int{1, 2}, []string{"investigate"}, "fix by x"},
		"a guard by status": {guarded, nil, "none", [2]int{0, 1}, nil, "skippy"},
	} {
		for _, edition := range []flow.Edition{flow.FirstEdition, flow.SecondEdition} {
			workflow, err := flow.Parse("w.yaml", []byte(c.workflow), noSchemas(t))
			require.NoError(t, err, name)
			graph, err := flow.Compile(workflow, nil, edition)
			require.NoError(t, err, name)
			params, err := workflow.Bind(nil)
			require.NoError(t, err, name)
			run, now := graph.Start("r", params, flow.Terms{PlainFailures: true})
			for _, step := range c.answers {
				now = settle(t, run, step, "x")
			}
			if edition == flow.FirstEdition {
				require.NotNil(t, now.Final, name)
				require.Equal(t, c.first, now.Final.Outputs["which"], name)
				require.Equal(t, c.ran[0], now.Final.Ran, name)
				continue
			}
			require.Len(t, now.Instructions, 1, name)
			require.Equal(t, map[string]any{"task": c.task}, now.Instructions[0].Input, name)
			now = settle(t, run, now.Instructions[0].StepID, "y")
			require.Equal(t, c.second, now.Final.Outputs["which"], name)
			require.Equal(t, c.ran[1], now.Final.Ran, name)
		}
	}
}

// settle answers a step.
func settle(t *testing.T, run *flow.Run, id, result string) flow.Outcome {
	t.Helper()
	step, err := run.View().Step(id)
	require.NoError(t, err)
	now, err := run.Settle(step, flow.Answer{Result: result, Digest: result})
	require.NoError(t, err)
	return now
}
