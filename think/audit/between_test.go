package audit

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

const compareWorkflow = `name: w
version: "1"
params:
  more: {type: boolean, default: false}
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: llm.generate, when: params.more, input_template: {task: B}, capture_as: b}
  - {id: each, foreach: state.a.items, as: item, call: llm.generate, input_template: {task: "{{ item }}"}, capture_as: each}
`

// TestBetween compares a run at two versions, and two runs: which steps stand otherwise,
// and where captures differ, also long ones.
func TestBetween(t *testing.T) {
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/w.yaml": {Data: []byte(compareWorkflow)}}}),
		Store: statetest.NewMemory(), Now: time.Now})
	defer engine.Close()
	ctx, auditor := t.Context(), New(engine)
	begin := func(run string, more bool, answers ...string) At {
		_, err := engine.Plan(ctx, think.PlanInput{Workflow: "w", RunID: run, Params: map[string]any{"more": more}})
		require.NoError(t, err)
		for i := 0; i < len(answers); i += 2 {
			_, err = engine.Next(ctx, think.NextInput{RunID: run, StepID: answers[i], ResultSnapshot: json.RawMessage(answers[i+1])})
			require.NoError(t, err)
		}
		return At{Key: state.Key{Workflow: "w", Run: run}}
	}
	statuses := func(of StepChange) (out [2]flow.Status) {
		for i, each := range []*flow.StepStatus{of.Before, of.After} {
			if each != nil {
				out[i] = each.Status
			}
		}
		return out
	}
	one := begin("one", false, "a", `{"items": ["x", "y"], "n": 1}`, "each_0", `"long"`)
	other := begin("other", true, "a", `{"items": ["x"], "n": 2}`, "b", `"B"`, "each_0", `"long"`)

	found, err := auditor.Between(ctx, At{one.Key, 1}, one)
	require.NoError(t, err)
	require.Equal(t, [2]int{1, 3}, [2]int{found.From.Version, found.To.Version})
	require.NotEqual(t, found.From.Hash, found.To.Hash)
	byID := map[string]StepChange{}
	for _, each := range found.Steps {
		byID[each.ID] = each
	}
	require.Equal(t, [2]flow.Status{flow.Issued, flow.Done}, statuses(byID["a"]))
	require.Equal(t, [2]flow.Status{"", flow.Done}, statuses(byID["each_0"]), "items were not there before")
	require.Equal(t, []ValueChange{{Name: "a", Whole: 1, SizeAfter: len(`{"items":["x","y"],"n":1}`), Places: []PlaceChange{{After: json.RawMessage(`{"items":["x","y"],"n":1}`)}}}},
		found.Captures)

	found, err = auditor.Between(ctx, one, one)
	require.NoError(t, err)
	require.Empty(t, found.Captures)
	for _, each := range found.Steps {
		require.True(t, each.Same, each.ID)
	}

	found, err = auditor.Between(ctx, one, other)
	require.NoError(t, err)
	require.Equal(t, []any{false, true}, []any{found.From.Params["more"], found.To.Params["more"]})
	byID = map[string]StepChange{}
	for _, each := range found.Steps {
		byID[each.ID] = each
	}
	require.Equal(t, [2]flow.Status{flow.Skipped, flow.Done}, statuses(byID["b"]))
	require.Equal(t, [2]flow.Status{flow.Issued, ""}, statuses(byID["each_1"]))
	require.True(t, byID["each_0"].Same)
	places := map[string][2]string{}
	for _, capture := range found.Captures {
		for _, each := range capture.Places {
			places[capture.Name+each.Path] = [2]string{string(each.Before), string(each.After)}
		}
	}
	require.Equal(t, [2]string{`1`, `2`}, places["a/n"])
	require.Equal(t, [2]string{`"y"`, ``}, places["a/items/1"])
	require.Equal(t, [2]string{``, `"B"`}, places["b"])

	_, err = auditor.Between(ctx, one, At{other.Key, 99})
	require.ErrorIs(t, err, fault.CheckpointNotFound)
	_, err = auditor.Between(ctx, one, At{Key: state.Key{Workflow: "w", Run: "none"}})
	require.ErrorIs(t, err, fault.UnknownRun)
}
