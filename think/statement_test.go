package think_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	"savant/think/library"
)

// bankTools know what bank.pay returns.
type bankTools struct{ think.AnyTools }

// Fits implements think.Tools.
func (bankTools) Fits(call string, value any) error {
	if paid, is := value.(map[string]any); call != "bank.pay" || is && paid["id"] != nil {
		return nil
	}
	return fault.New(fault.ValidationFailed, "expected id")
}

// What is stated after an unknown outcome must be a result of the tool, whoever states it:
// a model, or a person.
func TestAStatedResultIsHeldAgainstTheTool(t *testing.T) {
	t.Parallel()
	engine := think.New(think.Options{Store: statetest.NewMemory(), Now: time.Now, NewID: func() string { return "r" },
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/pays.yaml": {Data: []byte(`name: pays
version: "1"
steps:
  - {id: pay, call: bank.pay, effect: write, capture_as: paid}
outputs: {id: "{{ paid.id }}"}
`)}}}),
		Tools: bankTools{}})
	t.Cleanup(engine.Close)
	_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "pays", RunID: "r"})
	require.NoError(t, err)
	give := func(result string) error {
		_, err := engine.Next(t.Context(), think.NextInput{RunID: "r", StepID: "pay", ResultSnapshot: json.RawMessage(result)})
		return err
	}
	require.Error(t, give(`{"isError": true, "content": [{"type": "text", "text": "{\"error\":\"TOOL_TIMEOUT\",\"details\":\"late\",\"outcome\":\"unknown\"}"}]}`))
	require.ErrorContains(t, give(`{"unknown_outcome": "done", "result": {"number": 7}}`), "the stated result does not fit bank.pay: expected id")
	waiting, err := engine.Pending(t.Context(), "pays", "r")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.NotZero(t, waiting[0].Since)
	explained, err := engine.ExplainRun(t.Context(), "pays", "r")
	require.NoError(t, err)
	require.Contains(t, explained.Text, "; it is not known whether its last call had an effect\n")
	_, err = engine.Reset(t.Context(), think.ResetInput{RunID: "r", Checkpoint: "pay"})
	require.ErrorIs(t, err, fault.ResetNotAllowed, "it would be issued as if it had not been called")
	state := func(result any) error {
		_, err := engine.Approve(t.Context(), waiting[0], map[string]any{"unknown_outcome": "done", "result": result}, think.Caller{Name: think.ByTerminal})
		return err
	}
	require.ErrorIs(t, state(map[string]any{"number": 7}), fault.ValidationFailed)
	_, err = engine.Approve(t.Context(), waiting[0], map[string]any{"unknown_outcome": "done"}, think.Caller{Name: think.ByTerminal})
	require.ErrorContains(t, err, "with done, say in result what the call gave", "these are no words for a model")
	require.NoError(t, state(map[string]any{"id": 7}))
	outputs, err := engine.Outputs(t.Context(), "pays", "r")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"id": 7}, outputs)
}
