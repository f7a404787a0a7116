package think_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think"
	"savant/think/state"
)

// A run goes on under the schemas it was planned with, also after a restart
// and although somebody made one stricter meanwhile.
func TestRunKeepsItsSchemas(t *testing.T) {
	root := t.TempDir()
	files := fstest.MapFS{
		"schemas/Finding.json": {Data: []byte(`{"type":"object","required":["a"]}`), ModTime: time.Unix(1, 0)},
		"workflows/two.yaml": {Data: []byte(`name: two
version: "1.0"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, success_schema: Finding, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: "{{ state.a.a }}"}, success_schema: Finding}
`), ModTime: time.Unix(1, 0)}}
	open := func() *think.Engine {
		store, err := state.Open(root, state.Options{})
		require.NoError(t, err)
		engine := think.New(think.Options{Library: think.NewLibrary(think.Layer{Files: files}), Store: store, Now: time.Now, NewID: func() string { return "r2" }})
		t.Cleanup(func() {
			engine.Close()
			require.NoError(t, store.Close())
		})
		return engine
	}
	ctx := context.Background()
	first := open()
	_, err := first.Plan(ctx, think.PlanInput{Workflow: "two", RunID: "r1"})
	require.NoError(t, err)
	_, err = first.Next(ctx, think.NextInput{RunID: "r1", StepID: "a", ResultSnapshot: json.RawMessage(`{"a":1}`)})
	require.NoError(t, err)

	files["schemas/Finding.json"] = &fstest.MapFile{Data: []byte(`{"type":"object","required":["a","more"]}`), ModTime: time.Unix(2, 0)}
	second := open()
	reply, err := second.Next(ctx, think.NextInput{RunID: "r1", StepID: "b", ResultSnapshot: json.RawMessage(`{"a":2}`)})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Outcome)
	replayed, err := second.Debug(ctx, think.DebugInput{RunID: "r1", Action: "replay"})
	require.NoError(t, err)
	require.Equal(t, "identical", replayed.Verdict)

	_, err = second.Plan(ctx, think.PlanInput{Workflow: "two"})
	require.NoError(t, err)
	_, err = second.Next(ctx, think.NextInput{RunID: "r2", StepID: "a", ResultSnapshot: json.RawMessage(`{"a":1}`)})
	require.ErrorContains(t, err, "more", "a new run has the new schema")
}
