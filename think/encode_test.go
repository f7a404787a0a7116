package think

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// What is written by hand is what encoding/json writes.
func FuzzResultDataEncodes(f *testing.F) {
	for _, result := range []string{`null`, `"a b\"\\"`, ` { "a" : [ 1 , "x y" ] } `, "\t[\n1]\r", `"\\"`, `{"a":"\u0020 <&>"}`, `[]`, `"`, ``} {
		f.Add([]byte(result), "step", true)
	}
	f.Fuzz(func(t *testing.T, result []byte, step string, refused bool) {
		if len(result) > 0 && !json.Valid(result) {
			return
		}
		answer := &Reply{Ready: []string{step}, Summary: string(result)}
		measured, _ := answer.measure()
		data := resultData{resultHead: resultHead{Step: step, Attempt: len(step)}, Result: result, Reply: reply{Reply: answer, measured: measured}}
		if refused {
			data.Reply.Fault = fault.New(fault.ValidationFailed, "%s", step)
		}
		written, err := data.encode()
		require.NoError(t, err)
		expected, err := jsonvalue.Encode(data)
		require.NoError(t, err)
		require.Equal(t, string(expected), string(written))
		var spare bytes.Buffer
		require.NoError(t, json.Compact(&spare, written))
		require.Equal(t, spare.String(), string(written))
	})
}
