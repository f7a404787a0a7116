package jsonvalue_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// FuzzText holds a string against the standard decoder.
func FuzzText(f *testing.F) {
	for _, text := range []string{`"plain"`, `""`, ` "spaced" `, `"é𝄞"`, `"\u00e9\n"`, `"a"b"`, `"a" "b"`, `"`, `"a`, "\"a\tb\"", "\"\xff\"", "\"\x7f\"", `"a\"`, "\"a\"\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want string
		if json.Unmarshal(data, &want) != nil || !json.Valid(data) || string(data) == "null" {
			return
		}
		got, err := jsonvalue.Decode(data)
		require.NoError(t, err)
		if _, isText := got.(string); isText || want != "" {
			require.Equal(t, want, got)
		}
		encoded, err := jsonvalue.Encode(want)
		require.NoError(t, err)
		digest, err := jsonvalue.Digest(want)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(encoded)), digest)
	})
}

// TestNoText: what is not one JSON string is none.
func TestNoText(t *testing.T) {
	for _, text := range []string{`"a"b"`, `"a" "b"`, `"`, `"a`, "\"a\tb\"", `"a\"`, `"a",`} {
		_, err := jsonvalue.Decode([]byte(text))
		require.Error(t, err, text)
	}
}
