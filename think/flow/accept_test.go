package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// TestWhatAToolSaidOfItsFailureIsShown: the tool's own code and words, and no
// attempt more where it says that none would help.
func TestWhatAToolSaidOfItsFailureIsShown(t *testing.T) {
	failed := func(text string) string {
		return `{"isError": true, "content": [{"type": "text", "text": ` + text + `}]}`
	}
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: '1'\nsteps: [{id: a, call: s.tool, retry: {max: 1}}]"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		result, details string
		again           bool
	}{
		"text":       {failed(`"no such file"`), "the tool failed: no such file", true},
		"coded":      {failed(`"{\"error\": \"ENGINE_OFFLINE\", \"details\": \"it is down\"}"`), "ENGINE_OFFLINE: it is down", true},
		"the same":   {failed(`"{\"error\": \"TOOL_FAILED\", \"details\": \"no head\"}"`), "no head", true},
		"structured": {`{"isError": true, "structuredContent": {"error": "INTERNAL", "details": "inside"}, "content": []}`, "INTERNAL: inside", true},
		"no code":    {failed(`"{\"error\": \"it broke\", \"details\": \"x\"}"`), `the tool failed: {"error": "it broke", "details": "x"}`, true},
		"hopeless":   {failed(`"{\"error\": \"INVALID_PARAMS\", \"details\": \"limit\", \"retry\": false}"`), "INVALID_PARAMS: limit", false},
		"hopeful":    {failed(`"{\"error\": \"INVALID_PARAMS\", \"details\": \"limit\", \"retry\": true}"`), "INVALID_PARAMS: limit", true},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := graph.Start("r", map[string]any{}, flow.Terms{PlainFailures: true})
			result, err := jsonvalue.Decode([]byte(c.result))
			require.NoError(t, err)
			step, err := run.View().Step("a")
			require.NoError(t, err)
			out, err := run.Settle(step, flow.Answer{Result: result})
			require.NoError(t, err)
			require.Equal(t, c.again, len(out.Instructions) > 0)
			if !c.again {
				require.Nil(t, out.Rejected, "nothing is left to be tried")
				require.Equal(t, c.details, out.Final.Failed[0].Details)
				return
			}
			require.Equal(t, fault.ToolFailed, out.Rejected.Code)
			require.Equal(t, c.details, out.Rejected.Details)
		})
	}
}

// A run that an earlier version planned issues a lost call again, as it did; a new one
// waits to be told what happened.
func TestAnUnknownOutcomeIsHeldByTheTermsOfTheRun(t *testing.T) {
	workflow, err := flow.Parse("w.yaml", []byte("name: w\nversion: \"1\"\nsteps: [{id: a, call: m.pay, effect: write}]\n"), noSchemas(t))
	require.NoError(t, err)
	graph, err := flow.Compile(workflow, nil, flow.CurrentEdition)
	require.NoError(t, err)
	for _, holds := range []bool{false, true} {
		run, _ := graph.Start("r", map[string]any{}, flow.Terms{PlainFailures: true, HoldUnknown: holds})
		result, err := jsonvalue.Decode([]byte(`{"isError":true,"content":[{"type":"text","text":"{\"error\":\"ENGINE_OFFLINE\",\"details\":\"lost\",\"outcome\":\"unknown\"}"}]}`))
		require.NoError(t, err)
		step, err := run.View().Step("a")
		require.NoError(t, err)
		out, err := run.Settle(step, flow.Answer{Result: result})
		require.NoError(t, err)
		require.Equal(t, holds, out.Instructions[0].Outcome == flow.OutcomeUnknown)
		require.Equal(t, 2, out.Instructions[0].Attempt)
	}
}
