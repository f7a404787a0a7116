package think

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/test/statetest"
	"savant/think/library"
	"savant/think/state"
)

// Earlier versions accepted "each_01" for "each_1", and recorded it so: such a run is
// replayed as it went, and only what is asked of it now needs the one spelling.
func TestAnotherSpellingInAnOldRecordIsReplayed(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"workflows/w.yaml": {Data: []byte(`
name: w
version: "1.0"
steps:
  - {id: each, foreach: "[1, 2]", call: llm.generate, input_template: {task: "{{ item }}"}, capture_as: all}
outputs: {all: "{{ all }}"}
`)}}
	recorded := statetest.NewMemory()
	options := Options{Library: library.New(library.Layer{Files: files}), Store: recorded}
	e := New(options)
	defer e.Close()
	planned, err := e.Plan(t.Context(), PlanInput{Workflow: "w"})
	require.NoError(t, err)
	run := planned.State.RunID
	for _, step := range []string{"each_0", "each_1"} {
		_, err = e.Next(t.Context(), NextInput{RunID: run, StepID: step, ResultSnapshot: json.RawMessage(`"so"`)})
		require.NoError(t, err)
	}
	key := state.Key{Workflow: "w", Run: run}
	records, err := recorded.Records(t.Context(), key, 0, 0)
	require.NoError(t, err)
	for i := range records {
		records[i].Data = bytes.ReplaceAll(records[i].Data, []byte(`"step":"each_`), []byte(`"step":"each_+`))
	}
	require.Contains(t, string(records[2].Data), `"step":"each_+1"`)
	replayed, err := e.Replay(t.Context(), key, records, 0)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"all": []any{"so", "so"}}, replayed.Now().Final.Outputs)
	_, err = replayed.Step("each_+1")
	require.ErrorContains(t, err, `did you mean "each_1"?`)
	found, err := replayed.Step("each_1")
	require.NoError(t, err)
	require.Equal(t, "each_1", found.ID())
}
