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
