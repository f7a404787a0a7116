package engines_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

type place struct {
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
}

type placesIn struct {
	RunID  string           `json:"run_id"`
	Limit  int              `json:"limit,omitempty"`
	At     *place           `json:"at,omitempty"`
	Places []place          `json:"places,omitempty"`
	Named  map[string]place `json:"named,omitempty"`
	Free   map[string]any   `json:"free,omitempty"`
}

// An argument in other letters is one that nobody declared, wherever it stands;
// what is free is passed on as it is.
func TestNamesHaveCase(t *testing.T) {
	call := func(tool engines.Tool, args string) (any, error) {
		registry := engines.NewRegistry(engines.Options{})
		require.NoError(t, registry.Add(tool))
		return registry.Call(t.Context(), tool.Name, json.RawMessage(args))
	}
	deep := engines.Bind("test.deep", "Takes objects.", func(_ context.Context, in placesIn) (placesIn, error) { return in, nil })
	got, err := call(deep, `{"run_id":"r","Limit":7,"LIMIT":8,"at":{"path":"a","Path":"b","LINE":3},"places":[{"Path":"c"},{"line":2,"Line":4}],
		"named":{"Key":{"path":"d","PATH":"e"}},"free":{"Path":9007199254740993}}`)
	require.NoError(t, err)
	require.Equal(t, placesIn{RunID: "r", At: &place{Path: "a"}, Places: []place{{}, {Line: 2}}, Named: map[string]place{"Key": {Path: "d"}},
		Free: map[string]any{"Path": 9007199254740993}}, got)

	_, err = call(deep, `{"Run_ID":"r"}`)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, `"run_id"`, "the argument that is missing")
	require.ErrorContains(t, err, `"Run_ID"`, "what was sent")

	type flat struct {
		RunID string `json:"run_id,omitempty"`
		Limit int    `json:"limit,omitempty"`
	}
	plain := engines.Bind("test.plain", "Takes no objects.", func(_ context.Context, in flat) (flat, error) { return in, nil })
	got, err = call(plain, `{"Run_ID":"r","RUN_ID":"s","limit":3,"Limit":4}`)
	require.NoError(t, err)
	require.Equal(t, flat{Limit: 3}, got)
	_, err = call(plain, `{"limit":3,"limit":4}`)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, `"limit"`)
}

// A value that fits the schema but not the Go type is refused with its path.
func TestNumbersBeyondTheGoType(t *testing.T) {
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(engines.Bind("test.deep", "Takes objects.", func(_ context.Context, in placesIn) (placesIn, error) { return in, nil })))
	got, err := registry.Call(t.Context(), "test.deep", json.RawMessage(`{"run_id":"r","limit":3.0,"at":{"line":2e0}}`))
	require.NoError(t, err)
	require.Equal(t, placesIn{RunID: "r", Limit: 3, At: &place{Line: 2}}, got)
	_, err = registry.Call(t.Context(), "test.deep", json.RawMessage(`{"run_id":"r","places":[{},{"line":9223372036854775808}]}`))
	require.ErrorIs(t, err, fault.InvalidParams)
	require.Equal(t, []fault.Diagnostic{{Path: "places[1].line", Expected: "int", Message: "the value is out of bounds"}}, fault.From(err).Diagnostics)
}
