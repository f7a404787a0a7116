package mcpio

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read of a message is what a decoder into maps finds, which knows
// nothing of letters that are alike; and mcp-go is given nothing else.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2]},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","Method":"a","method":"b","params":{"Name":1,"name":"x","inputResponses":{"q":{}},"requestState":"s"}}`,
		`{"jsonrpc":"2.0","result":null}`, ` { "jsonrpc" : "2.0" , "method" : "m" , "params" : null } `, `{"jsonrpc":"2.0","method":"m","params":{"URI":1,"cursor":"c","Cursor":"d"}}`,
		`{"jsonrpc":"2.0","METHOD":1,"error":{}}`, `{"ſ":1,"jsonrpc":"2.0","method":"m","params":{"cliſent":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, refused := parseMessage(data)
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			require.NotNil(t, refused)
			return
		}
		if refused != nil {
			return
		}
		for name, got := range map[string]json.RawMessage{"id": m.ID, "result": m.Result, "error": m.Error} {
			require.Equal(t, string(members[name]), string(got), name)
		}
		var method string
		_ = json.Unmarshal(members["method"], &method)
		require.Equal(t, method, m.Method)
		var given map[string]json.RawMessage
		_ = json.Unmarshal(members["params"], &given)
		for name, got := range map[string]json.RawMessage{"name": m.Params.Name, "arguments": m.Params.Arguments, "_meta": m.Params.Meta, "uri": m.Params.URI,
			"requestId": m.Params.RequestID} {
			require.Equal(t, string(given[name]), string(got), name)
		}
		var passed map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(exact(data), &passed))
		for name := range passed {
			require.False(t, isDisguised(name), name)
		}
		require.Equal(t, string(members["method"]), string(passed["method"]))
	})
}
