package jsonvalue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// TestCanonicalFollowsItsVectors checks the examples of RFC 8785.
func TestCanonicalFollowsItsVectors(t *testing.T) {
	for text, want := range map[string]string{
		`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`:                                          `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"\U0001F600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		`[56, {"d": true, "10": null, "1": []}]`: `[56,{"1":[],"10":null,"d":true}]`,
		`-0`:                                     `0`,
		`[1e21, 1e20, 5e-324, 9007199254740992]`: `[1e+21,100000000000000000000,5e-324,9007199254740992]`,
	} {
		got, err := jsonvalue.Canonical(json.RawMessage(text))
		require.NoError(t, err, text)
		require.Equal(t, want, string(got))
	}
	for _, wrong := range []string{``, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `{} {}`, `{`} {
		_, err := jsonvalue.Canonical(json.RawMessage(wrong))
		require.Error(t, err, wrong)
	}
}

// TestSharedNumbers reads whole numbers as other readers of JSON do.
func TestSharedNumbers(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "3.0": 3, "30e-1": 3, "-0": 0, "3e-400": 0, "0e999": 0, "null": 0, "2.9999999999999999999": 3, "9007199254740991": 1<<53 - 1} {
		got := struct{ N int }{7}
		require.NoError(t, jsonvalue.UnmarshalShared([]byte(`{"N":`+text+`,"n":1e400}`), &got), text)
		require.Equal(t, want, got.N, text)
	}
	for _, wrong := range []string{"1.5", "9007199254740992", "1e400", `"3"`, "true", "[3]", "{}"} {
		got := struct{ N int }{}
		require.Error(t, jsonvalue.UnmarshalShared([]byte(`{"N":`+wrong+`}`), &got), wrong)
	}
}
