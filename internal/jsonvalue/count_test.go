package jsonvalue_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		`1`:                            1,
		`"a,b"`:                        1,
		`[]`:                           1,
		`{}`:                           1,
		`[1, [2], {"a": "b"}, null]`:   7,
		`{"a": {"b": {}}, "c": ["d"]}`: 5,
		`[1, 2`:                        3,
		`x`:                            0,
	} {
		require.Equal(t, want, jsonvalue.Count([]byte(text), 100), text)
	}
	require.Equal(t, 11, jsonvalue.Count([]byte("["+strings.Repeat("1,", 1000)+"1]"), 10))
}
