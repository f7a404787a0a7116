package mcpio_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
)

// A schema that cannot be merged with what errors and receipts need is published
// as it is, beside that of errors: results are held against all it says, and get
// their receipt in the text.
func TestAnySchemaOfResultsTakesErrorsToo(t *testing.T) {
	for output, results := range map[string][2]string{ // one that fits, one that does not
		`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":{"type":"integer"}}`: {`{"a":1}`, `{"a":1,"b":2}`},
		`{"type":"object","$ref":"#/$defs/R","$defs":{"R":{"properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}}`: {
			`{"n":1}`, `{"n":1,"_receipt":"abcdefgh"}`},
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["next"],"properties":{"next":{"$ref":"#/definitions/N"}},"maxProperties":1,
			"definitions":{"N":{"type":["object","null"],"properties":{"next":{"$ref":"#/definitions/N"}}}}}`: {`{"next":{"next":{"next":null}}}`, `{"next":{"next":1}}`},
		`{"type":"object","properties":{"error":{"type":["object","null"]}},"required":["error"]}`: {`{"error":null}`, `{"error":"TOOL_FAILED"}`},
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`:                        {`{"b":1}`, `{"c":1}`},
	} {
		giving := tool("test.give", func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) {
			if string(args) != "{}" {
				return nil, fault.New(fault.ToolFailed, "no").Attach("more", 1)
			}
			return json.RawMessage(results[0]), nil
		})
		giving.Input = json.RawMessage(`{"type":"object","properties":{"fail":{"type":"boolean"}}}`)
		giving.Output = json.RawMessage(output)
		for range 2 { // a Savant mounted in another publishes what that one can, too
			o, kept := witnessing(t, giving)
			client := connect(t, o, mcpclient.Options{})
			tools, err := client.Tools(t.Context())
			require.NoError(t, err)
			published := tools[0].Output
			requireValid(t, published, json.RawMessage(results[0]))
			require.Error(t, fits(t, published, json.RawMessage(results[1])), results[1])
			require.Error(t, fits(t, published, json.RawMessage(`{"error":"TOOL_FAILED"}`)))

			good, err := client.Invoke(t.Context(), "test.give", struct{}{}, nil)
			require.NoError(t, err)
			require.JSONEq(t, results[0], string(good.Structured))
			require.Contains(t, string(good.Content[len(good.Content)-1]), `{\"_receipt\":\"`)

			bad, err := client.Invoke(t.Context(), "test.give", map[string]any{"fail": true}, nil)
			require.NoError(t, err)
			require.True(t, bad.IsError)
			requireValid(t, published, bad.Structured)
			require.True(t, kept[receiptIn(t, bad.Structured)].Failed)
			giving.Output = published
		}
	}
}

// References that would lead elsewhere keep a schema where it is.
func TestASchemaThatCannotMoveStays(t *testing.T) {
	for _, output := range []string{
		`{"type":"object","properties":{"error":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"error":{"$ref":"#/properties/a"},"a":{"type":"integer"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#leaf"}},"not":{"required":["b"]},"$defs":{"L":{"$anchor":"leaf"}}}`,
	} {
		giving := answering("test.give", map[string]any{"a": 1})
		giving.Output = json.RawMessage(output)
		tools, err := connect(t, options(t, giving), mcpclient.Options{}).Tools(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, output, string(tools[0].Output))
	}
}
