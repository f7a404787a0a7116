package mcpio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// receiptFunc is a function as an engines.ReceiptStore.
type receiptFunc func(context.Context, engines.Receipt) error

// PutReceipt implements engines.ReceiptStore.
func (f receiptFunc) PutReceipt(ctx context.Context, receipt engines.Receipt) error {
	return f(ctx, receipt)
}

// shelf stores what it is given under one name.
type shelf struct{}

// PutArtifact implements engines.ArtifactStore.
func (shelf) PutArtifact(context.Context, []byte) (ref string, err error) { return "kept", nil }

// witnessing returns options for a server whose calls leave receipts, and the
// receipts by id.
func witnessing(t *testing.T, tools ...engines.Tool) (mcpio.Options, map[string]engines.Receipt) {
	t.Helper()
	kept := map[string]engines.Receipt{}
	registry := engines.NewRegistry(engines.Options{Receipts: receiptFunc(func(_ context.Context, receipt engines.Receipt) error {
		kept[receipt.ID] = receipt
		return nil
	})})
	require.NoError(t, registry.Add(tools...))
	return mcpio.Options{Title: "Savant", Version: "1", Registry: registry}, kept
}

func answering(name string, value any) engines.Tool {
	return tool(name, func(context.Context, engines.Call, json.RawMessage) (any, error) { return value, nil })
}

// receiptIn returns the receipt that a JSON object carries, or "".
func receiptIn(t *testing.T, object []byte) string {
	t.Helper()
	var members struct {
		Receipt string `json:"_receipt"`
	}
	require.NoError(t, json.Unmarshal(object, &members), string(object))
	return members.Receipt
}

func TestReplyCarriesItsReceipt(t *testing.T) {
	whole := engines.Content{Structured: json.RawMessage(`{ "n": 1 }`), Blocks: json.RawMessage(`[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"{\"n\":1}"}]`)}
	prose := engines.Content{Structured: json.RawMessage(`{"n":1}`), Blocks: json.RawMessage(`[{"type":"text","text":"one"}]`)}
	blocks := engines.Content{Blocks: json.RawMessage(`[{"type":"text","text":"one"}]`)}
	for name, each := range map[string]struct {
		value      any
		structured string
		texts      []string
	}{
		"object":                {map[string]any{"a": "<b>"}, `{"_receipt":"ID","a":"<b>"}`, []string{`{"_receipt":"ID","a":"<b>"}`}},
		"nothing in it":         {map[string]any{}, `{"_receipt":"ID"}`, []string{`{"_receipt":"ID"}`}},
		"list":                  {[]int{1, 2}, `{"_receipt":"ID","result":[1,2]}`, []string{`{"_receipt":"ID","result":[1,2]}`}},
		"Savant in Savant":      {map[string]any{"_receipt": "inner234", "n": 1}, `{"_receipt":"ID","n":1}`, []string{`{"_receipt":"ID","n":1}`}},
		"mounted, text as JSON": {whole, `{"_receipt":"ID","n":1}`, []string{"", `{"_receipt":"ID","n":1}`}},
		"mounted, text apart":   {prose, `{"_receipt":"ID","n":1}`, []string{"one", `{"_receipt":"ID"}`}},
		"mounted, only text":    {blocks, ``, []string{"one", `{"_receipt":"ID"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			o, kept := witnessing(t, answering("test.give", each.value))
			result, err := connect(t, o, mcpclient.Options{}).Invoke(t.Context(), "test.give", struct{}{}, nil)
			require.NoError(t, err)
			require.Len(t, kept, 1)
			for id, receipt := range kept {
				require.Equal(t, "test.give", receipt.Tool)
				require.Equal(t, each.structured, strings.ReplaceAll(string(result.Structured), id, "ID"))
				require.Len(t, result.Content, len(each.texts))
				for i, text := range each.texts {
					var shown struct{ Text string }
					require.NoError(t, json.Unmarshal(result.Content[i], &shown))
					require.Equal(t, text, strings.ReplaceAll(shown.Text, id, "ID"))
				}
			}
		})
	}
}

// TestReplyOfThinkCarriesNone: what guides is no witness, and neither is a
// call that was not begun.
// A tool's own member of the warning's name is not replaced: the warning is a text of its own.
func TestAToolsOwnWarningStays(t *testing.T) {
	closed := answering("test.give", map[string]any{"_warning": "disk almost full", "n": 1})
	closed.Input = json.RawMessage(`{"type":"object","properties":{}}`)
	o, kept := witnessing(t, closed)
	result, err := connect(t, o, mcpclient.Options{}).Invoke(t.Context(), "test.give", map[string]any{"extra": 1}, nil)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	for id := range kept {
		require.JSONEq(t, `{"_receipt":"`+id+`","_warning":"disk almost full","n":1}`, string(result.Structured))
		require.Len(t, result.Content, 2)
		require.Contains(t, string(result.Content[1]), `does not declare \\\"extra\\\": the call was made without`)
	}
}

func TestReplyOfThinkCarriesNone(t *testing.T) {
	o, kept := witnessing(t, answering("think.next", map[string]any{"done": true}), answering("agent.run", map[string]any{}), answering("test.give", map[string]any{}))
	client := connect(t, o, mcpclient.Options{})
	for _, name := range []string{"think.next", "agent.run", "test.none"} {
		result, err := client.Invoke(t.Context(), name, struct{}{}, nil)
		require.NoError(t, err)
		require.NotContains(t, string(result.Structured)+result.Text(), "_receipt")
	}
	require.Empty(t, kept)
}

// TestFailureCarriesItsReceipt: in the text alone where the output schema
// cannot be published so that it takes errors, since the public TypeScript
// client shows nothing of an error whose structured content does not fit.
func TestFailureCarriesItsReceipt(t *testing.T) {
	for output, structured := range map[string]bool{
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`: true,
		`{"type":"object","maxProperties":1}`:                        true,
		`{"type":"object","properties":{"error":{"type":"object"}}}`: true,
		`{"type":"object","oneOf":[{"required":["a"]}]}`:             true,
		`{"type":"object","properties":{"error":{"$ref":"#"}}}`:      false,
	} {
		failing := tool("test.fail", func(context.Context, engines.Call, json.RawMessage) (any, error) {
			return nil, fault.New(fault.ToolFailed, "no").With(fault.Diagnostic{Path: "n"}).Attach("more", json.RawMessage(`[1]`))
		})
		failing.Output = json.RawMessage(output)
		o, kept := witnessing(t, failing)
		client := connect(t, o, mcpclient.Options{})
		result, err := client.Invoke(t.Context(), "test.fail", struct{}{}, nil)
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Equal(t, structured, len(result.Structured) > 0, output)
		require.True(t, kept[receiptIn(t, json.RawMessage(result.Text()))].Failed)
		if structured {
			require.JSONEq(t, result.Text(), string(result.Structured))
			tools, err := client.Tools(t.Context())
			require.NoError(t, err)
			requireValid(t, tools[0].Output, result.Structured)
		}
	}
}

// TestWhatIsPublishedIsExact: what is neither a result nor an error does not
// fit, and a Savant mounted in another publishes what that one can open again.
func TestWhatIsPublishedIsExact(t *testing.T) {
	exact := answering("test.give", map[string]any{"n": 1})
	exact.Output = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	published := exact
	for range 2 {
		tools, err := connect(t, options(t, published), mcpclient.Options{}).Tools(t.Context())
		require.NoError(t, err)
		requireValid(t, tools[0].Output, json.RawMessage(`{"n":1}`))
		requireValid(t, tools[0].Output, json.RawMessage(`{"error":"TOOL_FAILED","details":"no"}`))
		for _, wrong := range []string{`{}`, `{"n":"1"}`, `{"error":"TOOL_FAILED"}`, `{"error":1,"details":""}`} {
			require.Error(t, fits(t, tools[0].Output, json.RawMessage(wrong)), wrong)
		}
		published.Output = tools[0].Output
	}
}

// TestPublishedSchemasTakeReceipts: a client holds the structured content
// against the output schema it was shown, and finds it good, whatever the
// schema; where the schema cannot be opened the receipt stands in the text.
func TestPublishedSchemasTakeReceipts(t *testing.T) {
	const fields = `"properties":{"n":{"type":"integer"}},"required":["n"]`
	for output, inStructure := range map[string]bool{
		`{"type":"object",` + fields + `}`:                                                                                                   true,
		`{"type":"object",` + fields + `,"additionalProperties":true}`:                                                                       true,
		`{"type":"object",` + fields + `,"additionalProperties":false}`:                                                                      true,
		`{"type":"object",` + fields + `,"additionalProperties":{"type":"integer"}}`:                                                         true,
		`{"type":"object","properties":{"n":{"type":"integer"},"_receipt":{"type":"string"}},"required":["n"],"additionalProperties":false}`: true,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                                                                        true,
		`{"type":"object",` + fields + `,"unevaluatedProperties":false}`:                                                                     false,
		`{"type":"object",` + fields + `,"maxProperties":1}`:                                                                                 false,
		`{"type":"object",` + fields + `,"propertyNames":{"pattern":"^[a-z]"}}`:                                                              false,
		`{"type":"object","properties":{"n":{},"_receipt":{"type":"integer"}}}`:                                                              false,
	} {
		exact := answering("test.give", map[string]any{"n": 1})
		exact.Output = json.RawMessage(output)
		o, kept := witnessing(t, exact)
		client := connect(t, o, mcpclient.Options{})
		tools, err := client.Tools(t.Context())
		require.NoError(t, err)
		result, err := client.Invoke(t.Context(), "test.give", struct{}{}, nil)
		require.NoError(t, err)
		requireValid(t, tools[0].Output, result.Structured)
		require.Equal(t, inStructure, receiptIn(t, result.Structured) != "", output)
		require.Contains(t, string(result.Content[len(result.Content)-1]), "_receipt", output)
		require.Len(t, kept, 1)
	}
}

func requireValid(t *testing.T, schema, value json.RawMessage) {
	t.Helper()
	require.NoError(t, fits(t, schema, value), "%s against %s", value, schema)
}

func fits(t *testing.T, schema, value json.RawMessage) error {
	t.Helper()
	set, err := schemas.Load()
	require.NoError(t, err)
	decoded, err := jsonvalue.Decode(schema)
	require.NoError(t, err)
	compiled, err := set.Inline(decoded)
	require.NoError(t, err, string(schema))
	given, err := jsonvalue.Decode(value)
	require.NoError(t, err)
	return compiled.Check(given)
}

// Nothing of a result is lost, and nothing is added but the receipt and the warning.
func TestAnnotatedIsTheObjectTheReceiptAndTheWarning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny())).Draw(t, "object")
		encoded, err := jsonvalue.Encode(object)
		require.NoError(t, err)
		value, err := jsonvalue.Decode(engines.Result{Receipt: "abcd2345", Warning: `no "x"`}.Annotated(encoded))
		require.NoError(t, err)
		want, err := jsonvalue.Decode(encoded)
		require.NoError(t, err)
		want.(map[string]any)["_receipt"], want.(map[string]any)["_warning"] = "abcd2345", `no "x"`
		require.Equal(t, want, value)
	})
}
