package engines_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

type describedNode struct {
	Name string           `json:"name" doc:"What it is called."`
	Next *describedNode   `json:"next,omitempty"`
	All  []*describedNode `json:"all,omitempty"`
	Raw  json.RawMessage  `json:"raw,omitempty"`
}

// A tool of a Go function is described by its types, one of another server by its schemas.
func TestDescribe(t *testing.T) {
	bound := engines.Bind("shop.find", "Finds.", func(context.Context, struct {
		Name  string   `json:"name" doc:"Of the article." example:"tea"`
		Order string   `json:"order" enum:"price,name"`
		Limit int      `json:"limit,omitempty" min:"1" max:"9" example:"3"`
		Tags  []string `json:"tags,omitempty"`
	}) (*describedNode, error) {
		return nil, nil
	})
	described, err := bound.Describe()
	require.NoError(t, err)
	require.Equal(t, []engines.Field{
		{Name: "name", Type: "text", Doc: "Of the article.", Required: true},
		{Name: "order", Type: "price, name", Required: true},
		{Name: "limit", Type: "1 to 9"},
		{Name: "tags", Type: "list of text"},
	}, described.Arguments)
	require.Equal(t, []engines.Field{
		{Name: "name", Type: "text", Doc: "What it is called."}, {Name: "next", Type: "any"}, {Name: "all", Type: "list"}, {Name: "raw", Type: "any"},
	}, described.Result)
	require.JSONEq(t, `{"name":"tea","order":"price","limit":3}`, string(described.Example))
	require.Equal(t, "- id: find\n  call: shop.find\n  input_template: {name: \"tea\", order: \"price\", limit: 3}\n  capture_as: find\n",
		engines.Step(bound.Name, described.Example))
	require.NotContains(t, string(bound.InputSchema()), "tea", "an example is not published")

	mounted := engines.Tool{Name: "files.read", Input: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"Where."},"head":{"type":["integer","null"]}}}`),
		Output: json.RawMessage(`{"type":"object","properties":{"lines":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}}}},"any":true}}`)}
	described, err = mounted.Describe()
	require.NoError(t, err)
	require.Equal(t, []engines.Field{{Name: "head", Type: "any"}, {Name: "path", Type: "text", Doc: "Where.", Required: true}}, described.Arguments)
	require.Equal(t, []engines.Field{{Name: "any", Type: "any"}, {Name: "lines", Type: "list of objects"}, {Name: "lines[].text", Type: "text"}}, described.Result)
	require.JSONEq(t, `{"path":"text"}`, string(described.Example))
	require.Empty(t, engines.Step("think.plan", described.Example))
}
