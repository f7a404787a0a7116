package think_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// Long captures leave the memory after a while, and are all there when a later
// step asks for them: in the process that took them, and in another.
func TestLongCapturesAreReadBack(t *testing.T) {
	t.Parallel()
	const items = 150
	root := t.TempDir()
	files := fstest.MapFS{"workflows/loop.yaml": {Data: []byte(`name: loop
version: "1.0"
limits: {items: 200}
params: {n: {type: array}}
steps:
  - {id: early, call: llm.generate, input_template: {task: x}, capture_as: early}
  - {id: each, call: llm.generate, foreach: params.n, input_template: {task: "{{ item }}"}, capture_as: all, deps: [early]}
  - {id: last, call: llm.generate, input_template: {task: "{{ state.early }}"}, deps: [each]}
outputs:
  all: "{{ state.all }}"
`)}}
	open := func() *think.Engine {
		store, err := state.Open(root, state.Options{})
		require.NoError(t, err)
		engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: store, Now: time.Now})
		t.Cleanup(func() {
			engine.Close()
			require.NoError(t, store.Close())
		})
		return engine
	}
	long := func(i int) string { return fmt.Sprintf("%d%s", i, strings.Repeat(" long", 80)) }
	numbers, expected := make([]any, items), make([]string, items)
	for i := range items {
		numbers[i], expected[i] = i, long(i)
	}
	ctx := context.Background()
	engine := open()
	_, err := engine.Plan(ctx, think.PlanInput{Workflow: "loop", RunID: "r", Params: map[string]any{"n": numbers}})
	require.NoError(t, err)
	answer := func(step, result string) *think.Reply {
		data, err := json.Marshal(result)
		require.NoError(t, err)
		reply, err := engine.Next(ctx, think.NextInput{RunID: "r", StepID: step, ResultSnapshot: data})
		require.NoError(t, err)
		return reply
	}
	answer("early", long(-1))
	var reply *think.Reply
	for i := range items {
		if i == items/2 {
			engine = open()
		}
		reply = answer(fmt.Sprintf("each_%d", i), long(i))
	}
	require.Contains(t, string(reply.Instruction.Input), long(-1))
	require.Equal(t, "done", answer("last", "end").Outcome)
	for _, engine := range []*think.Engine{engine, open()} {
		whole, err := engine.StateGet(ctx, think.StateGetInput{RunID: "r", Var: "all"})
		require.NoError(t, err)
		data, err := json.Marshal(whole.Value)
		require.NoError(t, err)
		var all []string
		require.NoError(t, json.Unmarshal(data, &all))
		require.Equal(t, expected, all)
	}
}
