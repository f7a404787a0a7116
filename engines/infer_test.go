package engines_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

func TestSchemasOfStructsAreCompact(t *testing.T) {
	require.Equal(t, `{"type":"object","properties":{"workflow":{"type":"string","description":"Name of the workflow."},`+
		`"limit":{"type":"integer","minimum":1,"maximum":500},"style":{"type":"string","enum":["short","long"]},`+
		`"paths":{"type":"array","items":{"type":"string"}},"params":{"type":"object"},"result":{},"any":{}},"required":["workflow"]}`,
		string(engines.SchemaOf[echoIn]()))
	require.Equal(t, `{"type":"object","properties":{}}`, string(engines.SchemaOf[struct{}]()))
}

// What a model reads is shorter than what a call may have.
func TestListedInputs(t *testing.T) {
	type in struct {
		Query  string         `json:"query"`
		Q      string         `json:"q,omitempty" list:"no"`
		Offset int            `json:"offset,omitempty" min:"0"`
		Limit  int            `json:"limit,omitempty" min:"4" max:"9"`
		Change nested         `json:"change" list:"brief" doc:"Of review.change."`
		Rows   []nested       `json:"rows,omitempty" list:"brief"`
		More   map[string]any `json:"more,omitempty"`
	}
	tool := engines.Bind("test.list", "Lists.", func(_ context.Context, in in) (string, error) { return in.Q, nil })
	require.Equal(t, `{"type":"object","properties":{"query":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer","minimum":4,"maximum":9},`+
		`"change":{"type":"object","description":"Of review.change.","properties":{}},"rows":{"type":"array","items":{"type":"object","properties":{}}},"more":{"type":"object","properties":{}}},"required":["query","change"]}`,
		string(tool.ListedInput()))
	require.Contains(t, string(tool.InputSchema()), `"q":`)
	tool.Input = json.RawMessage(`{"type":"object"}`)
	require.JSONEq(t, `{"type":"object","properties":{}}`, string(tool.ListedInput()), "the caller's own")
}

type base struct {
	Repo string `json:"repo,omitempty"`
}

type nested struct {
	base
	At      time.Time         `json:"at"`
	Pointer *int              `json:"pointer,omitempty"`
	Counts  map[string]uint32 `json:"counts"`
	Rows    []struct {
		Share float64 `json:"share"`
	} `json:"rows"`
	Flag   bool   `json:",omitzero"`
	Hidden string `json:"-"`
	own    string
}

func TestSchemasOfNestedStructs(t *testing.T) {
	require.Empty(t, nested{}.own, "what is not exported is left out")
	require.Equal(t, `{"type":"object","properties":{"repo":{"type":"string"},"at":{"type":"string"},"pointer":{"type":"integer"},`+
		`"counts":{"type":"object","additionalProperties":{"type":"integer"}},`+
		`"rows":{"type":"array","items":{"type":"object","properties":{"share":{"type":"number"}},"required":["share"]}},`+
		`"Flag":{"type":"boolean"}},"required":["at","counts","rows"]}`, string(engines.SchemaOf[nested]()))
}

type loop struct {
	Next *loop `json:"next,omitempty"`
}

type badBound struct {
	N int `json:"n" min:"one"`
}

func TestTypesNoJSONDescribesAreMistakes(t *testing.T) {
	require.PanicsWithValue(t, "engines: engines_test.loop contains itself", func() { engines.SchemaOf[loop]() })
	require.Panics(t, func() { engines.SchemaOf[struct{ F func() }]() })
	require.Panics(t, func() { engines.SchemaOf[string]() })
	require.Panics(t, func() { engines.SchemaOf[badBound]() })
}

func TestBoundToolsDecodeWithoutTheRegistry(t *testing.T) {
	tool := named("x.echo")
	require.NoError(t, tool.Check())
	_, err := tool.Call(t.Context(), engines.Call{}, json.RawMessage(`{"limit":99999999999999999999}`))
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, "limit")
	out, err := tool.Call(t.Context(), engines.Call{}, nil)
	require.NoError(t, err)
	require.Equal(t, echoIn{}, out)
}
