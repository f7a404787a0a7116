package think_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
)

// A result of too many values is refused before it is decoded, costs no attempt
// and is not recorded.
func TestAResultOfTooManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"workflows/one.yaml": {Data: []byte("name: one\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: x}}\n")}}
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: files}), Store: statetest.NewMemory()})
	defer engine.Close()
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "one", RunID: "r"})
	require.NoError(t, err)
	list := func(items int) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(`0,`, items-1) + "0]")
	}
	text := func(value any) json.RawMessage {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		return data
	}
	tool := func(text string) any {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	}
	long := string(list(200_000))
	for name, result := range map[string]json.RawMessage{
		"as a value":                   list(200_000),
		"as a text":                    text(long),
		"as a text in a fence":         text("```json\n" + long + "\n```"),
		"as text that is not ended":    text(long[:len(long)-1] + ",0"),
		"as the content of a tool":     text(tool(long)),
		"as the content of a text":     text(string(text(tool(long)))),
		"as what only seems a receipt": text(tool(`{"_receipt":` + long + "}")),
	} {
		_, err = engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: result})
		require.ErrorIs(t, err, fault.ResultTooLarge, name)
	}
	at, err := engine.Position(t.Context(), "", "r")
	require.NoError(t, err)
	require.Equal(t, 1, at.Version)
	reply, err := engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "a", Attempt: 1, ResultSnapshot: text(tool(string(list(199_999))))})
	require.NoError(t, err)
	require.Equal(t, "done", reply.Outcome)
}
