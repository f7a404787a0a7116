package audit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/test/statetest"
	"savant/think"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

const editedWorkflow = `name: w
version: "1"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: B}, capture_as: b}
artifacts: [{name: all, type: json, from: "[a, b]"}]
`

// edited compiles the workflow after a change.
func edited(t *testing.T, engine *think.Engine, old, now string) *flow.Graph {
	require.Contains(t, editedWorkflow, old)
	workflow, err := engine.Library.Parse("w.yaml", []byte(strings.Replace(editedWorkflow, old, now, 1)))
	require.NoError(t, err)
	graph, err := engine.Library.Compile(workflow)
	require.NoError(t, err)
	return graph
}

// TestDivergence: an edit of what is still to come leaves a run's past as it
// is; one of what was answered shows where the two part.
func TestDivergence(t *testing.T) {
	ctx := context.Background()
	files := fstest.MapFS{"workflows/w.yaml": {Data: []byte(editedWorkflow)}}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: statetest.NewMemory(), Now: time.Now})
	defer engine.Close()
	_, err := engine.Plan(ctx, think.PlanInput{Workflow: "w", RunID: "r"})
	require.NoError(t, err)
	_, err = engine.Next(ctx, think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`"one"`)})
	require.NoError(t, err)
	records, err := engine.Store.Records(ctx, state.Key{Workflow: "w", Run: "r"}, 0, 0)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		old, now           string
		recorded, replayed string
	}{
		"the same":            {old: "name: w", now: "name: w"},
		"a later step":        {old: "task: B", now: "task: Another"},
		"one more step":       {old: "artifacts:", now: "  - {id: c, call: llm.generate, input_template: {task: C}}\nartifacts:"},
		"the input":           {old: "task: A", now: "task: Another", recorded: `llm.generate {"task":"A"}`, replayed: `llm.generate {"task":"Another"}`},
		"the name":            {old: "id: a,", now: "id: z,", recorded: `llm.generate {"task":"A"}`, replayed: `waits for z: llm.generate {"task":"A"}`},
		"the step is skipped": {old: "task: A}", now: "task: A}, when: \"1 > 2\"", recorded: `llm.generate {"task":"A"}`, replayed: `waits for b: llm.generate {"task":"B"}`},
		"what is accepted":    {old: "task: A}", now: "task: A}, success_schema: {type: integer}", recorded: "accepted", replayed: "refused: VALIDATION_FAILED"},
		"what is captured":    {old: "task: A}", now: "task: A}, extract: \"result + result\"", recorded: `a = "one"`, replayed: `a = "oneone"`},
	} {
		found, err := New(engine).divergence(ctx, state.Key{Workflow: "w", Run: "r"}, records, edited(t, engine, c.old, c.now))
		require.NoError(t, err, name)
		if c.recorded == "" {
			require.Nil(t, found, name)
			continue
		}
		require.Equal(t, difference(2, "a", c.recorded, c.replayed), found, name)
	}
}
