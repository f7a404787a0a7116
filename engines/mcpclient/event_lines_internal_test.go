package mcpclient

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However a stream is cut and read, its lines are those of the whole.
func TestEventLinesAreThoseOfTheWhole(t *testing.T) {
	whole := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("a:\r\n\ufeff")), 0, 30, -1).Draw(t, "text")
		var in io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "byte by byte") {
			in = iotest.OneByteReader(in)
		}
		lines := &eventLines{in: bufio.NewReaderSize(in, 16), body: io.NopCloser(nil)}
		var read strings.Builder
		into := make([]byte, rapid.IntRange(1, 5).Draw(t, "size of a read"))
		for {
			n, err := lines.Read(into)
			read.Write(into[:n])
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			require.Positive(t, n)
		}
		require.Equal(t, whole.Replace(strings.TrimPrefix(text, "\ufeff")), read.String())
	})
}
