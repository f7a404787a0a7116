package think_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/library"
	"savant/think/state/statetest"
)

// The reply to a step knows its JSON, whatever its instruction holds, so that a
// server need not make it twice.
func TestAReplyKnowsItsJSON(t *testing.T) {
	file := `name: one
version: "1.0"
params:
  text: {type: string}
steps:
  - {id: input, call: llm.generate, input_template: {task: x}, capture_as: input}
  - {id: b, call: tool.input, input_template: {"input": "{{params.text}}", nested: {"input": 1, "input_template": 2}}, rationale: 'say "input":{"a":1},'}
  - {id: c, call: llm.generate, input_template: {task: "{{params.text}}"}}
  - {id: d, call: llm.generate, input_template: {task: y}}
`
	for name, text := range map[string]string{"short": `"input":{"x":1},` + "\n<&>\u2028", "long": strings.Repeat("long ", 400)} {
		t.Run(name, func(t *testing.T) {
			engine := think.New(think.Options{Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/one.yaml": {Data: []byte(file)}}}), Store: statetest.NewMemory(), Now: time.Now})
			t.Cleanup(engine.Close)
			reply, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "one", RunID: "r", Params: map[string]any{"text": text}})
			require.NoError(t, err)
			for !reply.Done {
				data, err := jsonvalue.Encode(reply)
				require.NoError(t, err)
				require.Equal(t, string(data), string(reply.EncodedJSON()))
				reply, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: reply.Instruction.StepID, ResultSnapshot: json.RawMessage(`{"input": "x"}`)})
				require.NoError(t, err)
			}
			require.True(t, reply.Done)
			require.NotNil(t, reply.EncodedJSON())
		})
	}
}
