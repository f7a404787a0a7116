package think_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
)

// Models send parameters as texts. What such a text stands for is taken where the schema has
// no text, and the run is the same as for the value itself.
func TestParametersSentAsTexts(t *testing.T) {
	t.Parallel()
	engine := think.New(think.Options{
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/w.yaml": {Data: []byte(`name: w
version: "1"
params: {n: {type: integer}, b: {type: boolean}, l: {type: array, items: {type: integer}}, o: {$ref: "#/$defs/x", $defs: {x: {type: object}}}, t: {type: string}, u: {type: [string, integer]}, f: {type: number, maximum: 1}}
steps:
  - {id: a, call: llm.generate, input_template: {task: x}}
`)}}}),
		Store: statetest.NewMemory(), NewID: func() string { return "r" }, Tools: think.AnyTools{},
	})
	defer engine.Close()
	texts := map[string]any{"n": "9007199254740993", "b": "true", "l": []any{"1", 2}, "o": `{"a":"1"}`, "t": "5", "u": "5", "f": "0.5"}
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: "r", Params: texts})
	require.NoError(t, err)
	require.Equal(t, "9007199254740993", texts["n"], "the caller's own map is left as it was")
	found, err := engine.StateGet(t.Context(), think.StateGetInput{RunID: "r"})
	require.NoError(t, err)
	require.JSONEq(t, `{"n":9007199254740993,"b":true,"l":[1,2],"o":{"a":"1"},"t":"5","u":"5","f":0.5}`, encode(t, found.Snapshot.Params))
	_, err = engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: "r", Params: texts})
	require.NoError(t, err, "the same run")

	for name, wrong := range map[string]any{"n": "5x", "b": "yes", "l": "1,2", "o": "[]", "t": 5, "f": "2"} {
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: "wrong", Params: map[string]any{name: wrong}})
		require.ErrorIs(t, err, fault.InvalidParams, name)
	}
}
