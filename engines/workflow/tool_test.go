package workflow_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/think"
	"savant/think/flow"
)

// registryOf is a registry that has the engine itself, as in the program.
func registryOf(t *testing.T, files map[string]string, more ...engines.Tool) (*engines.Registry, *bench) {
	t.Helper()
	registry := engines.NewRegistry(engines.Options{})
	b := setup(t, nil, files, workflow.Options{Toolbox: registry})
	require.NoError(t, registry.Add(append(b.driver.Tools(), more...)...))
	return registry, b
}

func call(t *testing.T, ctx context.Context, registry *engines.Registry, args string) (*workflow.Outcome, error) {
	t.Helper()
	return callBy(t, ctx, engines.Caller{}, registry, args)
}

// callBy is call for a client that can do more than wait.
func callBy(t *testing.T, ctx context.Context, caller engines.Caller, registry *engines.Registry, args string) (*workflow.Outcome, error) {
	t.Helper()
	result, err := registry.Invoke(ctx, engines.Call{Caller: caller}, workflow.Name, json.RawMessage(args))
	outcome, _ := result.Value.(*workflow.Outcome)
	return outcome, err
}

func TestTheToolRunsAWorkflowThatRunsAnother(t *testing.T) {
	registry, b := registryOf(t, map[string]string{
		"main": "name: main\nversion: '1'\nsteps: [{id: a, call: workflow.workflow_run, input_template: {workflow: inner, params: {n: 3}}, capture_as: a, extract: result.outputs}]\noutputs: {n: '{{ a.n }}'}",
		"inner": "name: inner\nversion: '1'\nparams: {n: {type: integer}}\nsteps: [{id: a, call: flow.set, capture_as: a, input_template: {value: '{{ n + 1 }}'}}]\noutputs: {n: '{{ a }}', long: '" +
			strings.Repeat("x", 5000) + "'}"})
	outcome, err := call(t, t.Context(), registry, `{"workflow":"main","run_id":"r"}`)
	require.NoError(t, err)
	require.Equal(t, workflow.Done, outcome.Status, "%+v", outcome.Failures)
	require.JSONEq(t, `{"n":4}`, string(outcome.Outputs))
	status, _ := b.status("a")
	require.Equal(t, flow.Done, status)

	outcome, err = call(t, t.Context(), registry, `{"workflow":"inner","run_id":"long","params":{"n":1}}`)
	require.NoError(t, err)
	require.Less(t, len(outcome.Outputs), 4000)
	require.Contains(t, string(outcome.Outputs), `"$artifact":"savant://runs/inner/long/outputs"`)
}

func TestAWorkflowThatRunsItselfEnds(t *testing.T) {
	cases := map[string]struct{ input, want string }{
		"for ever":  {"{workflow: main}", `LIMIT_EXCEEDED: 8 runs already wait for this one`},
		"in itself": {"{workflow: main, run_id: '{{ run.id }}'}", `CYCLIC_DEPENDENCY: run r of workflow main would wait for itself`},
		"a pending": {"{workflow: asks}", `run fresh1 of workflow asks is pending: step a waits for a person`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			registry, b := registryOf(t, map[string]string{
				"main": "name: main\nversion: '1'\nsteps: [{id: a, call: workflow.workflow_run, retry: {max: 0}, input_template: " + c.input + "}]",
				"asks": "name: asks\nversion: '1'\nsteps: [{id: a, call: human.approve, input_template: {message: Go}}]"})
			outcome, err := call(t, t.Context(), registry, `{"workflow":"main","run_id":"r"}`)
			require.NoError(t, err)
			require.Equal(t, workflow.Failed, outcome.Status)
			require.Contains(t, deepest(t, b), c.want)
		})
	}
}

// deepest returns why the run that was planned last failed.
func deepest(t *testing.T, b *bench) string {
	t.Helper()
	all, err := b.think.StateList(t.Context(), think.StateListInput{Workflow: "main"})
	require.NoError(t, err)
	last := ""
	for _, each := range all.Runs {
		if each.Run > last || last == "r" {
			last = each.Run
		}
	}
	explained, err := b.think.Explain(t.Context(), think.ExplainInput{Workflow: "main", RunID: last, StepID: "a"})
	require.NoError(t, err)
	return explained.Why[len(explained.Why)-1].Message
}

func TestClientsThatGiveUpAreAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		tool := engines.Bind("tool.x", "Takes an hour.", func(ctx context.Context, _ struct{}) (any, error) {
			_, err := waits(&calls)(ctx, "", nil)
			return map[string]any{"n": 1}, err
		})
		registry, _ := registryOf(t, one(slow), tool)
		began := time.Now()
		outcome, err := call(t, t.Context(), registry, `{"workflow":"main","run_id":"r"}`)
		require.NoError(t, err)
		require.Equal(t, workflow.Running, outcome.Status)
		require.Contains(t, outcome.Note, "run_id")
		require.Equal(t, 20*time.Second, time.Since(began))
		outcome, err = call(t, t.Context(), registry, `{"run_id":"r","wait_ms":3600000}`)
		require.NoError(t, err)
		require.Equal(t, workflow.Done, outcome.Status)
		require.Equal(t, 1, calls)
	})
}

// TestATaskIsAwaitedToItsEnd: who takes the result later gets that of the run, and not that it
// still goes on.
func TestATaskIsAwaitedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		tool := engines.Bind("tool.x", "Takes an hour.", func(ctx context.Context, _ struct{}) (any, error) {
			_, err := waits(&calls)(ctx, "", nil)
			return map[string]any{"n": 1}, err
		})
		registry, _ := registryOf(t, one(slow), tool)
		task := &engines.Task{}
		outcome, err := callBy(t, t.Context(), engines.Caller{Task: task}, registry, `{"workflow":"main"}`)
		require.NoError(t, err)
		require.Equal(t, workflow.Done, outcome.Status)
		require.Equal(t, outcome.RunID, task.Run(), "it is known before the end")
	})
}

func TestTheClientIsNotifiedAndAsked(t *testing.T) {
	tool := engines.Bind("tool.x", "Answers.", func(context.Context, struct{}) (any, error) { return map[string]any{}, nil })
	registry, _ := registryOf(t, one("steps: [{id: a, call: tool.x}, {id: ask, deps: [a], call: human.approve, input_template: {message: Go}}, {id: b, deps: [ask], call: tool.x}]"), tool)
	var steps []string
	caller := engines.Caller{
		Progress: func(done, _ float64, message string) {
			require.Equal(t, float64(len(steps)+1), done)
			steps = append(steps, message)
		},
		Person: engines.PersonFunc(func(_ context.Context, asked engines.Elicitation) (engines.Answer, error) {
			require.Contains(t, asked.Message, "Go")
			return engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, nil
		}),
	}
	outcome, err := callBy(t, t.Context(), caller, registry, `{"workflow":"main","run_id":"r"}`)
	require.NoError(t, err)
	require.Equal(t, workflow.Done, outcome.Status)
	require.Equal(t, []string{"a: tool.x", "a: done", "b: tool.x", "b: done"}, steps)

	caller.Person = engines.PersonFunc(func(context.Context, engines.Elicitation) (engines.Answer, error) {
		return engines.Answer{Action: "cancel"}, nil
	})
	steps = nil
	outcome, err = callBy(t, t.Context(), caller, registry, `{"workflow":"main","run_id":"r2"}`)
	require.NoError(t, err)
	require.Equal(t, workflow.Waiting, outcome.Status)
}

// Who dismisses a question is not asked again by the same call.
func TestAQuestionIsPutOnce(t *testing.T) {
	registry, _ := registryOf(t, one("steps: [{id: ask, call: human.approve, input_template: {message: Go}}]"))
	asked := 0
	caller := engines.Caller{Person: engines.PersonFunc(func(context.Context, engines.Elicitation) (engines.Answer, error) {
		asked++
		return engines.Answer{Action: "cancel"}, nil
	})}
	for calls := 1; calls <= 2; calls++ {
		outcome, err := callBy(t, t.Context(), caller, registry, `{"workflow":"main","run_id":"r"}`)
		require.NoError(t, err)
		require.Equal(t, workflow.Waiting, outcome.Status)
		require.Equal(t, calls, asked)
	}
}

// An answer that was taken counts, also where the next one does not fit.
func TestAnAnswerThatDoesNotFitLosesNoOther(t *testing.T) {
	registry, _ := registryOf(t, one("steps: [{id: go, call: human.approve, input_template: {message: Go}}, "+
		"{id: n, deps: [go], call: human.ask, input_template: {message: How many, schema: {type: object, required: [n], properties: {n: {type: integer, maximum: 5}}}}}]"))
	caller := engines.Caller{Person: engines.PersonFunc(func(_ context.Context, asked engines.Elicitation) (engines.Answer, error) {
		if strings.Contains(asked.Message, "Go") {
			return engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, nil
		}
		return engines.Answer{Action: "accept", Content: json.RawMessage(`{"n":9}`)}, nil
	})}
	outcome, err := callBy(t, t.Context(), caller, registry, `{"workflow":"main","run_id":"r"}`)
	require.NoError(t, err)
	require.Equal(t, workflow.Waiting, outcome.Status)
	require.Equal(t, "n", outcome.Pending.StepID)
}

// What was meant as a parameter, or as another argument, starts no run with
// defaults.
func TestParametersBesideParamsAreReported(t *testing.T) {
	registry, b := registryOf(t, map[string]string{
		"main": "name: main\nversion: '1'\nparams: {n: {type: integer, default: 1}}\nsteps: [{id: a, call: flow.set, capture_as: a, input_template: {value: '{{ n + 1 }}'}}]\noutputs: {n: '{{ a }}'}"})
	for args, places := range map[string][2]string{ // where it was sent, and where it belongs
		`{"workflow":"main","n":3}`:                   {"n", "params.n"},
		`{"workflow":"main","parameters":{"n":3}}`:    {"parameters", "params"},
		`{"workflow":"main","params":{},"n":"three"}`: {"n", "params.n"},
	} {
		_, err := call(t, t.Context(), registry, args)
		require.ErrorIs(t, err, fault.InvalidParams, args)
		first := fault.From(err).Diagnostics[0]
		require.Equal(t, places, [2]string{first.Path, first.Expected}, args)
	}
	_, err := call(t, t.Context(), registry, `{"workflow":"main","runId":"r"}`)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, `"runId"`, "what was sent")
	require.ErrorContains(t, err, "run_id", "the argument")
	runs, err := b.think.StateList(t.Context(), think.StateListInput{})
	require.NoError(t, err)
	require.Empty(t, runs.Runs)
	outcome, err := call(t, t.Context(), registry, `{"workflow":"main","params":{"n":3},"n":3,"task_progress":"x"}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"n":4}`, string(outcome.Outputs))
}

// The client gets the progress of the steps' tools, also of those in a child run.
func TestTheClientGetsTheProgressOfAStep(t *testing.T) {
	var late func(done, total float64, message string)
	tool := engines.BindCall("tool.x", "Takes long.", func(_ context.Context, call engines.Call, _ struct{}) (any, error) {
		late = call.Progress
		late(3, 9, "indexing files")
		late(4, 0, "ok  pay")
		return map[string]any{}, nil
	})
	files := one("steps: [{id: a, call: workflow.workflow_run, input_template: {workflow: below}}]")
	files["below"] = "name: below\nversion: \"1\"\nsteps: [{id: b, call: tool.x}]\n"
	registry, _ := registryOf(t, files, tool)
	var steps []string
	caller := engines.Caller{Progress: func(_, _ float64, message string) { steps = append(steps, message) }}
	outcome, err := callBy(t, t.Context(), caller, registry, `{"workflow":"main","run_id":"r"}`)
	require.NoError(t, err)
	require.Equal(t, workflow.Done, outcome.Status)
	late(5, 0, "too late")
	require.Equal(t, []string{"a: workflow.workflow_run", "a: b: tool.x", "a: b: indexing files: 3 of 9", "a: b: ok  pay", "a: b: done", "a: done"}, steps)
}
