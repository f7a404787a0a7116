package mcpio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
)

// A result too large to hand on is an excerpt; of a tool with an output schema
// it is a failure that holds the excerpt, since it would not fit.
func TestExcerpts(t *testing.T) {
	registry := engines.NewRegistry(engines.Options{ResultLimit: 100,
		Artifacts: shelf{}, Receipts: receiptFunc(func(context.Context, engines.Receipt) error { return nil })})
	large := func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return map[string]string{"text": strings.Repeat("x", 200)}, nil
	}
	exact := tool("test.exact", large)
	exact.Output = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	require.NoError(t, registry.Add(tool("test.large", large), exact))
	w := dial(t, mcpio.Options{Registry: registry})

	w.send(callLine(1, "test.large", `{}`))
	answer := w.next()
	require.Contains(t, answer, `"$artifact":"kept"`)
	require.Contains(t, answer, `"structuredContent":{"_receipt":`)
	require.NotContains(t, answer, "isError")

	w.send(callLine(2, "test.exact", `{}`))
	answer = w.next()
	require.Contains(t, answer, `\"error\":\"LIMIT_EXCEEDED\"`)
	require.Contains(t, answer, `\"result\":{\"$artifact\":\"kept\"`)
	require.Contains(t, answer, `\"_receipt\":`)
	require.Contains(t, answer, `"structuredContent":{"_receipt":`)
	require.Contains(t, answer, `"isError":true`)
}

// What a mounted server shows is published as it came.
func TestContentIsPublishedWhole(t *testing.T) {
	blocks := `[{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":1},"unheard":"of"}]`
	whole := tool("test.whole", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return engines.Content{Blocks: json.RawMessage(blocks), Structured: json.RawMessage(`{"a":1}`)}, nil
	})
	shown := tool("test.shown", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return engines.Content{Blocks: json.RawMessage(blocks)}, nil
	})
	silent := tool("test.silent", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return engines.Content{Structured: json.RawMessage(`{"a":1}`)}, nil
	})
	w := dial(t, options(t, whole, shown, silent))
	for name, want := range map[string]string{
		"test.whole":  `{"content":` + blocks + `,"structuredContent":{"a":1}}`,
		"test.shown":  `{"content":` + blocks + `}`,
		"test.silent": `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`,
	} {
		w.send(callLine(1, name, `{}`))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":`+want+`}`, w.next(), name)
	}
}
