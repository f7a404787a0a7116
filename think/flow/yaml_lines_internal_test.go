package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines are counted as editors do: U+2028, U+2029 and U+0085 end none, also where YAML 1.1
// has them end one.
func TestLinesAreThoseOfEditors(t *testing.T) {
	_, places, err := ReadYAMLPlaces("a.yaml", []byte("a: \"x \u2028 y\u2029\"\nb: {c: \"\u0085\", d: 1}\r\ne: 2\n"))
	require.NoError(t, err)
	require.Equal(t, 2, places["b"].Line)
	require.Equal(t, []int{2, 13}, []int{places["b.d"].Line, places["b.d"].Column})
	require.Equal(t, []int{3, 1}, []int{places["e"].Line, places["e"].Column})
}
