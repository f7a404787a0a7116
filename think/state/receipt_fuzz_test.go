package state

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReceipt: what is read of any bytes is a receipt that PutReceipt wrote, to
// the byte, or an error.
func FuzzReceipt(f *testing.F) {
	receipt := Receipt{ID: "abcd2345", Tool: "t", Input: strings.Repeat("a", 64), Result: json.RawMessage(`{"hash":"<x>"}`)}
	whole, err := EncodeReceipt(receipt)
	require.NoError(f, err)
	for _, seed := range [][]byte{whole, whole[:len(whole)/2], []byte("}"), nil, []byte(`{"hash":""}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := DecodeReceipt("abcd2345", data)
		if err != nil {
			return
		}
		require.Equal(t, "abcd2345", found.ID)
		body, hash, _ := split([]byte(strings.TrimSuffix(string(data), "\n")))
		require.Equal(t, digestOf(body, "}"), hash)
	})
}
