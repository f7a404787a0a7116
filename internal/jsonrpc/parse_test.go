package jsonrpc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonrpc"
)

// FuzzParse compares what is read of a message with what a decoder into maps
// finds, which tells names apart by the case of their letters.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2]},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","Method":"a","method":"b","params":{"Name":1,"name":"x"}}`,
		`{"jsonrpc":"2.0","result":null}`, ` { "jsonrpc" : "2.0" , "method" : "m" , "params" : null } `,
		`{"jsonrpc":"2.0","METHOD":1,"error":{}}`, `{"ſ":1,"jsonrpc":"2.0","method":"m","params":{"cliſent":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, refused := jsonrpc.Parse(data)
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil {
			require.NotNil(t, refused)
			return
		}
		if refused != nil {
			return
		}
		for name, got := range map[string]json.RawMessage{"id": m.ID, "params": m.Params, "result": m.Result, "error": m.Error} {
			require.Equal(t, string(members[name]), string(got), name)
		}
		var method string
		_ = json.Unmarshal(members["method"], &method)
		require.Equal(t, method, m.Method)
	})
}
