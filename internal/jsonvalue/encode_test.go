package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// encoded is what encoding/json makes of a value without escapes for HTML.
func encoded(t testing.TB, value any) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return out.String()[:out.Len()-1]
}

// FuzzEncode holds Encode and Indenter to encoding/json.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{`null`, `[]`, `{}`, `[{}]`, `{"a":[],"b":{"":null}}`, `[1,-0,1.50,1e3,true,false]`, `"\\\"\u0007\u2028é\ud800 <&>"`,
		`{"b":1,"a":{"z":[[],[1,[2]]],"\"":"{[,:"}}`, `"a\\"`, `123456789012345678901234567890`} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, part int) {
		value, err := jsonvalue.Decode(data)
		if err != nil {
			return
		}
		want := encoded(t, value)
		got, err := jsonvalue.Append([]byte("before "), value)
		require.NoError(t, err)
		require.Equal(t, "before "+want, string(got))

		var indented, out bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(want), "", "  "))
		writer := jsonvalue.NewIndenter(&out)
		for rest := []byte(want); len(rest) > 0; {
			n := min(max(1, part), len(rest))
			_, err := writer.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, writer.Flush())
		require.Equal(t, indented.String(), out.String())
	})
}

func TestEncodeOfOtherKinds(t *testing.T) {
	type pair struct {
		B int    `json:"b"`
		A string `json:"a,omitempty"`
	}
	for _, value := range []any{[]any(nil), map[string]any(nil), json.Number("1e2"), json.Number(""), 0.1, int64(3), []string{"<"}, "\xff", pair{B: 1},
		map[string]any{"\xff": 1, "é": []any{pair{A: "x"}, json.RawMessage(` {"a" : 1} `)}}} {
		got, err := jsonvalue.Encode(value)
		require.NoError(t, err)
		require.Equal(t, encoded(t, value), string(got))
	}
	for _, value := range []any{math.NaN(), json.Number("x"), []any{func() {}}, map[string]any{"a": make(chan int)}} {
		_, err := jsonvalue.Encode(value)
		require.Error(t, err)
	}
}

// A long value passes the page of an indenter several times.
func TestIndenterOfALongValue(t *testing.T) {
	list := make([]any, 50_000)
	for i := range list {
		list[i] = map[string]any{"item": i}
	}
	data, err := jsonvalue.Encode(list)
	require.NoError(t, err)
	var want, got bytes.Buffer
	require.NoError(t, json.Indent(&want, data, "", "  "))
	writer := jsonvalue.NewIndenter(&got)
	_, err = writer.Write(data)
	require.NoError(t, err)
	require.NoError(t, writer.Flush())
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
}
