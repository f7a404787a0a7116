package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A text is never larger as JSON than was reckoned with.
func TestQuotedSizeIsNoLessThanThatOfTheEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + rapid.SampledFrom([]string{"", "\n\t\r\b\f\x00\x1f\x7f", "\"\\<>&/", "\u2028\u2029\ufffd\xff", "日本"}).Draw(t, "special")
		require.GreaterOrEqual(t, quotedSize(text), size(text))
	})
	require.Equal(t, size("plain text\nand \"more\""), quotedSize("plain text\nand \"more\""))
}
