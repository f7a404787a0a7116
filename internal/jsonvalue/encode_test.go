package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// encoded is the encoding that digests cover since the first release: what
// encoding/json makes of a value without escapes for HTML.
func encoded(t testing.TB, value any) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(value))
	return out.String()[:out.Len()-1]
}

// pair is a struct with all that the records and replies of Savant use.
type pair struct {
	B     int             `json:"b"`
	A     string          `json:"a,omitempty"`
	Any   any             `json:"any"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	Map   map[string]any  `json:"map,omitempty"`
	List  []string        `json:"list"`
	Deep  *pair           `json:"deep,omitempty"`
	Error *fault.Error    `json:"error,omitempty"`
	Took  time.Duration   `json:"took"`
	When  time.Time       `json:"when"`
	Bytes []byte          `json:"bytes,omitempty"`
	Float float64         `json:"float,omitempty"`
	Code  fault.Code      `json:"code,omitempty"`
	No    int             `json:"-"`
	inner
}

type inner struct {
	Inner bool `json:"inner,omitempty"`
}

// FuzzEncode compares Encode with encoding/json, byte for byte.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{`null`, `[]`, `{}`, `[{}]`, `{"a":[],"b":{"":null}}`, `[1,-0,-0.0,1.50,1e3,1e21,1e-7,true,false]`, `"\\\"\u0007\u2028é\ud800 <&>\u007f\b\f"`,
		`{"b":1,"a":{"z":[[],[1,[2]]],"\"":"{[,:"}}`, `"a\\"`, `123456789012345678901234567890`, "{\"\xff\":\"\xfe\",\"\xfe\":1}", `[5e-324,1.7976931348623157e308,9007199254740993,0.1]`,
		`{"é":1,"z":2,"😀":3,"￿":4}`, "[\n 1 ,\t{ \"a\" : \"\u2029\" } ]"} {
		f.Add([]byte(seed), "text\x00<\xff\u2028")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		value, err := jsonvalue.DecodeStored(data)
		if err != nil {
			return
		}
		fault := fault.New(fault.TemplateRenderError, "%s", text).Attach("more", value)
		for _, each := range []any{value, text, map[string]any{text: value}, pair{Any: value, A: text, Raw: data, Took: time.Second},
			&pair{Map: map[string]any{text: text}, List: []string{text}, Deep: &pair{Any: []any{value}}, Error: fault, Bytes: []byte(text), Float: 0.1}} {
			got, err := jsonvalue.Encode(each)
			require.NoError(t, err)
			require.Equal(t, encoded(t, each), string(got))
			got, err = jsonvalue.EncodeIndented(each, 0)
			require.NoError(t, err)
			require.Equal(t, indented(t, each), string(got))
		}
	})
}

func indented(t testing.TB, value any) string {
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, []byte(encoded(t, value)), "", "  "))
	return out.String()
}

func TestEncodeOfOtherKinds(t *testing.T) {
	for _, value := range []any{[]any(nil), map[string]any(nil), json.Number("1e2"), json.Number(""), 0.1, int64(3), []string{"<"}, "\xff", pair{B: 1}, math.Copysign(0, -1),
		map[string]any{"\xff": 1, "é": []any{pair{A: "x"}, json.RawMessage(` {"a" : 1} `)}}, json.RawMessage(nil), (*pair)(nil), map[int]string{10: "a", 9: "b"},
		json.RawMessage(`{"a":"\ud800","a":1.0,"b":"\u003c<"}`), [2]bool{true}, float32(0.1), map[string]any{"n": json.Number("1.0")}} {
		got, err := jsonvalue.Encode(value)
		require.NoError(t, err)
		require.Equal(t, encoded(t, value), string(got))
		got, err = jsonvalue.EncodeIndented(value, 0)
		require.NoError(t, err)
		require.Equal(t, indented(t, value), string(got))
	}
	for _, value := range []any{math.NaN(), json.Number("x"), []any{func() {}}, map[string]any{"a": make(chan int)}, json.RawMessage("x")} {
		_, err := jsonvalue.Encode(value)
		require.Error(t, err)
		_, err = jsonvalue.EncodeIndented(value, 0)
		require.Error(t, err)
	}
}

// FuzzCompact: what is compacted is what encoding/json makes of it, byte for byte, since
// digests cover it.
func FuzzCompact(f *testing.F) {
	for _, text := range []string{"", " ", `{}`, " [ 1.0 , -0,1e5, 10000000000000000000000 ] ", `{"b" : "\u0061\ud800\/", "a":"\u2028 <&>", "a":null}`,
		"\"\xff\"", "{\"\xff\": true\n}", `1 2`, `[1,]`, "\ufeff1", `"\x"`, `01`, "[\"\t\"]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		var want bytes.Buffer
		wanted := json.Compact(&want, data)
		got, err := jsonvalue.Compact(data)
		require.Equal(t, wanted == nil, err == nil, "%v, %v", wanted, err)
		require.Equal(t, before, string(data))
		if err == nil {
			require.Equal(t, want.String(), string(got))
		}
	})
}
