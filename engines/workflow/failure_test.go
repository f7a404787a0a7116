package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/guide"
	"savant/engines/workflow"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

func TestAWorkflowIsDrivenToItsOutputs(t *testing.T) {
	b := setup(t, nil, one(`
steps:
  - {id: list, call: tool.list, capture_as: found, input_template: {in: here}}
  - {id: each, call: tool.read, foreach: found.names, as: name, input_template: {name: "{{ name }}"}, capture_as: texts}
  - {id: judge, call: llm.generate, input_template: {task: "Judge {{ texts }}"}, success_schema: {type: object, required: [good]}, capture_as: verdict}
outputs: {texts: "{{ texts }}", verdict: "{{ verdict }}"}
summary: "{{ len(texts) }} read"
artifacts: [{name: texts, type: json, from: texts}]
`), workflow.Options{
		Toolbox: tools(func(_ context.Context, name string, args json.RawMessage) (engines.Result, error) {
			if name == "tool.list" {
				return gives(`{"names":["a","b"]}`)
			}
			return engines.Result{JSON: args}, nil
		}),
		Generate: func(_ context.Context, question workflow.Question) (json.RawMessage, error) {
			require.Equal(t, `{"task":"Judge [{\"name\":\"a\"},{\"name\":\"b\"}]"}`, string(question.Input))
			require.Equal(t, `{"required":["good"],"type":"object"}`, string(question.Schema))
			if question.Attempt == 1 {
				return json.RawMessage("I think it is fine."), nil
			}
			require.NotEmpty(t, question.Diagnostics)
			return json.RawMessage("```json\n{\"good\": true}\n```"), nil
		},
	})
	outcome := b.run(t.Context())
	require.Equal(t, workflow.Done, outcome.Status, "%+v", outcome.Failures)
	require.JSONEq(t, `{"texts":[{"name":"a"},{"name":"b"}],"verdict":{"good":true}}`, string(outcome.Outputs))
	require.Equal(t, "2 read", outcome.Summary)
	require.Equal(t, 4, outcome.Steps)
	require.Len(t, outcome.Artifacts, 1)
	require.Contains(t, outcome.Artifacts[0].Ref, outcome.Artifacts[0].SHA256)
	require.Equal(t, outcome, b.run(t.Context()), "a finished run returns its outcome")
	var kinds []workflow.Kind
	for _, event := range b.events {
		kinds = append(kinds, event.Kind)
	}
	require.Equal(t, []workflow.Kind{"begins", "settled", "begins", "settled", "begins", "settled", "begins", "refused", "begins", "settled"}, kinds)
}

func TestFailuresOfToolsAreTheStepsFailures(t *testing.T) {
	cases := map[string]struct {
		call string
		fail error
		want string
		made int // calls: one more where it may help
	}{
		"coded":    {"tool.x", fault.New(fault.EngineOffline, "tool is down"), "ENGINE_OFFLINE: tool is down", 2},
		"plain":    {"tool.x", errors.New("secret"), "INTERNAL: ", 2},
		"argument": {"tool.x", fault.New(fault.InvalidParams, "tool.x: missing argument"), "INVALID_PARAMS: tool.x: missing argument", 1},
		"changed":  {"tool.x", fault.New(fault.ToolChanged, "tool.x is another"), "TOOL_CHANGED: ", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			b := setup(t, nil, one("steps: [{id: a, call: "+c.call+", retry: {max: 1}}, {id: b, call: tool.y, join: done, deps: [a]}]"), workflow.Options{
				Toolbox: tools(func(_ context.Context, name string, _ json.RawMessage) (engines.Result, error) {
					if name == "tool.y" {
						return gives(`{}`)
					}
					calls++
					return engines.Result{}, c.fail
				})})
			outcome := b.run(t.Context())
			require.Equal(t, workflow.Failed, outcome.Status)
			require.Len(t, outcome.Failures, 1)
			status, why := b.status("a")
			require.Equal(t, flow.Failed, status)
			require.Contains(t, why, c.want)
			require.NotContains(t, why, "secret")
			require.NotContains(t, why, `{"error"`, "what the tool said is for people")
			require.Equal(t, c.made, calls)
			status, _ = b.status("b")
			require.Equal(t, flow.Done, status)
		})
	}
}

// A step that would move runs or start agents is refused at plan, so nothing is called.
func TestStepsThatMoveRunsAreNotPlanned(t *testing.T) {
	for _, call := range []string{"think.next", "agent.run"} {
		b := setup(t, nil, one("steps: [{id: a, call: "+call+"}]"), workflow.Options{
			Toolbox: tools(func(_ context.Context, name string, _ json.RawMessage) (engines.Result, error) {
				t.Errorf("%s was called", name)
				return gives(`{}`)
			})})
		_, err := b.driver.Run(t.Context(), engines.Call{}, request, b.watch)
		require.ErrorIs(t, err, fault.YAMLSchemaViolation, call)
	}
}

func TestWhatSavantCannotDoIsLeft(t *testing.T) {
	unknown := tools(func(context.Context, string, json.RawMessage) (engines.Result, error) {
		return engines.Result{}, fault.New(fault.UnknownTool, "no tool is named that")
	})
	down := func(context.Context, workflow.Question) (json.RawMessage, error) {
		return nil, fault.New(fault.ReasoningUnavailable, "the Reasoning API is down")
	}
	cases := map[string]struct {
		step     string
		generate workflow.Generate
		whom     string
		why      string
	}{
		"no model":   {"call: llm.generate, input_template: {task: x}", nil, workflow.ForModel, "No model is set: name one with LLM_MODEL or --llm=PROVIDER:NAME"},
		"model down": {"call: llm.generate, input_template: {task: x}", down, workflow.ForModel, "the Reasoning API is down"},
		"tool":       {"call: filesystem.read_file", nil, workflow.ForTool, "no tool is named that"},
		"person":     {"call: human.approve, input_template: {message: 'So?'}", nil, workflow.ForPerson, "savant approve r wait"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := setup(t, nil, one("limits: {parallel: 2}\nsteps: [{id: wait, "+c.step+", capture_as: w}, {id: other, call: flow.set, input_template: {value: 1}}]\noutputs: {w: '{{ w }}'}"),
				workflow.Options{Toolbox: unknown, Generate: c.generate})
			outcome := b.run(t.Context())
			require.Equal(t, workflow.Waiting, outcome.Status)
			require.Equal(t, "wait", outcome.Pending.StepID)
			require.Equal(t, c.whom, outcome.Pending.For)
			require.Contains(t, outcome.Pending.Why, c.why)
			require.Equal(t, 1, outcome.Pending.Attempt, "nothing was tried")
			if c.whom == workflow.ForPerson {
				waiting, err := b.think.Pending(t.Context(), "main", "r")
				require.NoError(t, err)
				_, err = b.think.Approve(t.Context(), think.Pending{Workflow: "main", RunID: "r", StepID: "wait", Digest: waiting[0].Digest}, map[string]any{"approved": true}, think.Caller{Name: think.ByTerminal})
				require.NoError(t, err)
			} else {
				_, err := b.think.Next(t.Context(), think.NextInput{RunID: "r", StepID: "wait", ResultSnapshot: json.RawMessage(`{"approved":true}`)})
				require.NoError(t, err)
			}
			outcome = b.run(t.Context())
			require.Equal(t, workflow.Done, outcome.Status, "somebody else answered")
		})
	}
}

// Of several steps that wait, a person's is named first.
func TestAPersonIsNamedFirst(t *testing.T) {
	b := setup(t, nil, one("limits: {parallel: 3}\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}, {id: p, call: human.ask, input_template: {message: Who}}]"), workflow.Options{})
	outcome := b.run(t.Context())
	require.Equal(t, "p", outcome.Pending.StepID)
	require.Equal(t, []string{"a"}, outcome.Pending.Others)
}

func TestARunThatIsBlockedSaysWhy(t *testing.T) {
	b := setup(t, nil, one("steps: [{id: a, call: tool.x, capture_as: a}, {id: b, call: tool.x, when: a.missing}]"), workflow.Options{
		Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) { return gives(`{}`) })})
	outcome := b.run(t.Context())
	require.Equal(t, workflow.Blocked, outcome.Status)
	require.Equal(t, fault.ExpressionError, outcome.Error.Code)
	require.Equal(t, workflow.Blocked, b.run(t.Context()).Status)
}

func TestRequestsThatNameNoRunAreRefused(t *testing.T) {
	b := setup(t, nil, one("params: {n: {type: integer}}\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}]"), workflow.Options{})
	for code, request := range map[fault.Code]workflow.Request{
		fault.UnknownWorkflow: {Workflow: "mian"},
		fault.UnknownRun:      {RunID: "nothing"},
		fault.InvalidParams:   {Workflow: "main", Params: map[string]any{"n": "x"}},
	} {
		_, err := b.driver.Run(t.Context(), engines.Call{}, request, nil)
		require.ErrorIs(t, err, code)
	}
	first, err := b.driver.Run(t.Context(), engines.Call{}, workflow.Request{Workflow: "main", Params: map[string]any{"n": 1}}, nil)
	require.NoError(t, err)
	_, err = b.driver.Run(t.Context(), engines.Call{}, workflow.Request{Workflow: "main", RunID: first.RunID, Params: map[string]any{"n": 2}}, nil)
	require.ErrorIs(t, err, fault.StateConflict)
	again, err := b.driver.Run(t.Context(), engines.Call{}, workflow.Request{RunID: first.RunID}, nil)
	require.NoError(t, err)
	require.Equal(t, first, again, "the id is enough")
}

// registered are the tools of a registry.
type registered struct {
	think.AnyTools
	registry *engines.Registry
}

// Asked implements think.Tools.
func (r registered) Asked(call string, input json.RawMessage) (tool, digest string, err error) {
	return guide.CallDigest(r.registry, call, input)
}

// A step that only the gateway may witness passes when Savant calls the tool
// through a registry that keeps receipts, and the run's record says so.
func TestDrivenStepsAreWitnessed(t *testing.T) {
	store, err := state.Open(t.TempDir(), state.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	registry := engines.NewRegistry(engines.Options{Receipts: store})
	fails := true
	require.NoError(t, registry.Add(engines.Bind("tool.x", "Answers the second time.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (any, error) {
		if fails = !fails; !fails {
			return nil, fault.New(fault.EngineOffline, "not yet")
		}
		return in, nil
	})))
	files := one("steps: [{id: a, call: tool.x, witness: required, input_template: {n: 3}, capture_as: a}]\noutputs: {a: '{{ a }}'}")
	b := setup(t, store, files, workflow.Options{Toolbox: registry})
	b.think.Receipts, b.think.Tools = store, registered{registry: registry}
	outcome := b.run(t.Context())
	require.Equal(t, workflow.Done, outcome.Status, "%+v", outcome.Pending)
	require.JSONEq(t, `{"a":{"n":3}}`, string(outcome.Outputs))
	got, err := b.think.StateGet(t.Context(), think.StateGetInput{RunID: "r"})
	require.NoError(t, err)
	require.Equal(t, flow.WitnessGateway, got.Snapshot.Steps[0].Witness)
	require.Equal(t, 2, got.Snapshot.Steps[0].Attempt, "the failed call was witnessed, too")
}

func TestWithoutReceiptsAWitnessedStepIsLeft(t *testing.T) {
	b := setup(t, nil, one("steps: [{id: a, call: tool.x, witness: required}]"), workflow.Options{
		Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) { return gives(`{}`) })})
	outcome := b.run(t.Context())
	require.Equal(t, workflow.Waiting, outcome.Status)
	require.Contains(t, outcome.Pending.Why, string(fault.NotWitnessed))
}
