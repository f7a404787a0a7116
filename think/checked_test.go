package think_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/test/statetest"
	"savant/think"
	static "savant/think/check"
	"savant/think/library"
)

// countingTools count how often they are asked for schemas.
type countingTools struct {
	think.AnyTools
	asked   int
	version uint64
	input   string
}

// Schemas implements think.Tools.
func (c *countingTools) Schemas(string) (static.Tool, bool) {
	c.asked++
	return static.Tool{Input: []byte(c.input)}, true
}

// Version implements think.Tools.
func (c *countingTools) Version() uint64 { return c.version }

// A plan of an unchanged workflow is checked once for each version of the tools, and
// what a caller does to the findings stays with it.
func TestAWorkflowIsCheckedOnceForItsTools(t *testing.T) {
	t.Parallel()
	tools := &countingTools{version: 1, input: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`}
	engine := think.New(think.Options{
		Library: library.New(library.Layer{Files: fstest.MapFS{"workflows/w.yaml": {Data: []byte(
			"name: w\nversion: '1'\nsteps:\n  - {id: a, call: x.y, input_template: {n: five}, capture_as: unread}\n")}}}),
		Store: statetest.NewMemory(), NewID: func() string { return "r" },
		Tools: tools,
	})
	defer engine.Close()
	for range 3 {
		_, err := engine.Plan(t.Context(), think.PlanInput{Workflow: "w"})
		require.ErrorIs(t, err, fault.InvalidParams)
		require.Contains(t, fault.From(err).Diagnostics[0].Source, "n: five")
		out, err := engine.Validate(t.Context(), think.ValidateInput{Workflow: "w"})
		require.NoError(t, err)
		require.Len(t, out.Errors, 1)
		require.Len(t, out.Notes, 1)
		out.Notes[0].Message = "changed"
	}
	once := tools.asked
	require.Positive(t, once)
	tools.version, tools.input = 2, `{"type":"object","properties":{"n":{"type":"string"}}}`
	out, err := engine.Validate(t.Context(), think.ValidateInput{Workflow: "w"})
	require.NoError(t, err)
	require.True(t, out.Valid, "the tool takes it now")
	require.Contains(t, out.Notes[0].Message, `"unread"`)
	require.Equal(t, 2*once, tools.asked)
}
