package flow_test

import (
	"encoding/json"
	"fmt"
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

// A loop that stopped before its last item counts as done until the third edition; since
// then a handler sees that it is not, and still reads what was done.
func TestALoopThatStoppedByEdition(t *testing.T) {
	const source = `name: w
version: "1.0"
limits: {parallel: 3}
steps:
  - {id: check, call: llm.generate, retry: {max: 0}, success_schema: {type: boolean}, input_template: {task: check}}
  - {id: each, foreach: "[1, 2, 3]", parallel: 1, call: llm.generate, input_template: {task: "{{ item }}"}, capture_as: list}
  - {id: undo, join: done, call: llm.generate, input_template: {task: "{{ steps.each.status }} {{ state.list[0] }} {{ len(state.list) }}"}}
`
	for edition, expected := range map[flow.Edition]string{flow.SecondEdition: "done one 3", flow.ThirdEdition: "skipped one 3"} {
		workflow, err := flow.Parse("w.yaml", []byte(source), noSchemas(t))
		require.NoError(t, err)
		graph, err := flow.Compile(workflow, nil, edition)
		require.NoError(t, err)
		params, err := workflow.Bind(nil)
		require.NoError(t, err)
		run, _ := graph.Start("r", params, flow.Terms{PlainFailures: true})
		settle(t, run, "each_0", "one")
		settle(t, run, "check", "not a boolean")
		now := settle(t, run, "each_1", "two")
		require.Len(t, now.Instructions, 1)
		require.Equal(t, map[string]any{"task": expected}, now.Instructions[0].Input)
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

// Whatever a step evaluates, it is skipped for a capture that is read and not there, and
// not for one that is passed by.
func TestOnlyWhatIsEvaluatedIsRead(t *testing.T) {
	const frame = `name: w
version: "1.0"
params: {go: {type: boolean, default: false}, list: {default: [1, 2]}}
limits: {parallel: 10}
steps:
  - {id: hi, when: params.go, call: flow.set, input_template: {value: {x: 1, list: [1]}}, capture_as: hi}
  - {id: sure, call: flow.set, input_template: {value: {x: 1, none: []}}, capture_as: sure}
  - %s
outputs: {p: "{{ p }}"}
`
	for step, want := range map[string]string{
		`{id: p, foreach: "params.go ? hi.list : [7]", call: flow.set, input_template: {value: "{{ item }}"}, capture_as: p}`:                                   `done [7]`,
		`{id: p, foreach: hi.list, call: flow.set, input_template: {value: "{{ item }}"}, capture_as: p}`:                                                       `skipped missing_data:hi`,
		`{id: p, foreach: "hi?.list ?? []", call: flow.set, input_template: {value: "{{ item }}"}, capture_as: p}`:                                              `done []`,
		`{id: p, foreach: params.list, call: flow.set, input_template: {value: "{{ item > 1 ? hi.x : item }}"}, capture_as: p}`:                                 `done [1,null]`,
		`{id: p, foreach: params.list, call: flow.set, input_template: {value: "{{ item > 0 ? hi.x : item }}"}, capture_as: p}`:                                 `skipped missing_data:hi`,
		`{id: p, foreach: params.list, when: "item > 1 ? hi.x == 1 : true", call: flow.set, input_template: {value: "{{ item }}"}, capture_as: p}`:              `done [1,null]`,
		`{id: p, foreach: params.list, when: "item == 0 || hi.x == 1", call: flow.set, input_template: {value: "{{ item }}"}, capture_as: p}`:                   `skipped missing_data:hi`,
		`{id: p, when: "params.go && hi.x == 1", call: flow.set, input_template: {value: 1}, capture_as: p}`:                                                    `skipped when`,
		`{id: p, when: "params.go or hi.x == 1", call: flow.set, input_template: {value: 1}, capture_as: p}`:                                                    `skipped missing_data:hi`,
		`{id: p, when: "not params.go or hi.x == 1", call: flow.set, input_template: {value: 1}, capture_as: p}`:                                                `done 1`,
		`{id: p, call: flow.set, input_template: {value: "{{ sure.x ?? hi.x }}"}, capture_as: p}`:                                                               `done 1`,
		`{id: p, call: flow.set, input_template: {value: "{{ sure?.y ?? hi.x }}"}, capture_as: p}`:                                                              `skipped missing_data:hi`,
		`{id: p, call: flow.set, input_template: {value: "{{ (hi ?? null)?.x ?? 3 }}"}, capture_as: p}`:                                                         `done 3`,
		`{id: p, call: flow.set, input_template: {value: "{{ filter(sure.none, # == hi.x) }}"}, capture_as: p}`:                                                 `done []`,
		`{id: p, call: flow.set, input_template: {value: "{{ let x = hi; 1 }}"}, capture_as: p}`:                                                                `skipped missing_data:hi`,
		`{id: p, call: flow.set, input_template: {value: "{{ sure?.y?.[hi.x] ?? 4 }}"}, capture_as: p}`:                                                         `done 4`,
		`{id: p, call: flow.set, input_template: {value: ["{{ sure.nothing }}", "{{ hi.x }}"]}, capture_as: p}`:                                                 `skipped missing_data:hi`,
		`{id: p, call: flow.assert, input_template: {that: "{{ sure.x == 1 }}", message: "{{ hi.x }}"}, capture_as: p}`:                                         `done true`,
		`{id: p, call: flow.assert, input_template: {that: "{{ sure.x == 2 }}", message: "{{ hi.x }}"}, capture_as: p}`:                                         `failed VALIDATION_FAILED`,
		`{id: p, call: flow.assert, input_template: {that: "{{ hi.x == 2 }}"}, capture_as: p}`:                                                                  `skipped missing_data:hi`,
		`{id: p, call: flow.run, input_template: {workflow: child, params: {x: "{{ params.go ? hi.x : 5 }}"}}, capture_as: p}`:                                  `done {"x":5}`,
		`{id: p, call: flow.run, input_template: {workflow: child, params: {x: "{{ params.go ? 5 : hi.x }}"}}, capture_as: p}`:                                  `skipped missing_data:hi`,
		`{id: p, call: flow.run, input_template: {workflow: child, params: {x: "{{ p == null ? 6 : hi.x }}"}}, repeat: {until: "true", max: 2}, capture_as: p}`: `done {"x":6}`,
		`{id: p, call: flow.run, input_template: {workflow: child, params: {x: 1}}, repeat: {until: "result.x == hi.x", max: 2}, capture_as: p}`:                `skipped missing_data:hi`,
		`{id: p, join: done, call: flow.set, input_template: {value: "{{ steps.hi.status == 'done' ? hi.x : 8 }}"}, capture_as: p}`:                             `done 8`,
	} {
		workflow, err := flow.Parse("w.yaml", fmt.Appendf(nil, frame, step), noSchemas(t))
		require.NoError(t, err, step)
		child, err := flow.Parse("child.yaml", []byte("name: child\nversion: '1'\nparams: {x: {}}\nsteps: [{id: s, call: flow.set, input_template: {value: 1}}]\noutputs: {x: '{{ params.x }}'}\n"), noSchemas(t))
		require.NoError(t, err)
		graph, err := flow.Compile(workflow, map[string]flow.Child{"child": {Workflow: child}}, flow.CurrentEdition)
		require.NoError(t, err, step)
		params, err := workflow.Bind(nil)
		require.NoError(t, err)
		_, now := graph.Start("r", params, flow.Terms{PlainFailures: true})
		require.Nil(t, now.Blocked, step)
		require.NotNil(t, now.Final, step)
		got := ""
		for _, each := range now.Change.Steps {
			if each.ID == "p" {
				got = string(each.Status) + " " + each.Cause + each.Code
			}
		}
		if value, err := json.Marshal(now.Final.Outputs["p"]); err == nil && got == "done " {
			got += string(value)
		}
		require.Equal(t, want, got, step)
	}
}
