package think_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think"
	"savant/think/library"
	"savant/think/state/statetest"
)

// A result of too many values is refused before it is decoded, costs no attempt
// and is not recorded.
func TestAResultOfTooManyValuesIsRefused(t *testing.T) {
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: statetest.NewMemory()})
	defer engine.Close()
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "one", RunID: "r"})
	require.NoError(t, err)
	list := func(items int) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(`0,`, items-1) + "0]")
	}
	_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: list(200_000)})
	require.ErrorIs(t, err, fault.ResultTooLarge)
	at, err := engine.Position(t.Context(), "", "r")
	require.NoError(t, err)
	require.Equal(t, 1, at.Version)
	reply, err := engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", Attempt: 1, ResultSnapshot: list(199_999)})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Outcome)
}
