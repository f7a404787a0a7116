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

// endless repeats a text.
type endless string

func (e endless) Read(into []byte) (int, error) { return copy(into, e), nil }

// A stream that sends and sends and has no events is ended; one with large events is
// not.
func TestAStreamWithoutEventsIsEnded(t *testing.T) {
	for _, text := range []string{": ping\n\n", "\n", "event: x\n", "dat", ":", "id: 1\ndat: 2\n\n"} {
		server := 0
		lines := &eventLines{in: bufio.NewReader(endless(text)), body: io.NopCloser(nil), silent: func() { server++ }}
		read, err := io.Copy(io.Discard, lines)
		require.ErrorIs(t, err, errQuiet, text)
		require.LessOrEqual(t, read, int64(maxQuiet+8192))
		require.Equal(t, 1, server)
	}
	large := "data: " + strings.Repeat("x", 2*maxQuiet) + "\n\n"
	lines := &eventLines{in: bufio.NewReader(strings.NewReader(strings.Repeat(": ping\n"+large, 3))), body: io.NopCloser(nil)}
	read, err := io.Copy(io.Discard, lines)
	require.NoError(t, err)
	require.Equal(t, int64(3*(len(large)+len(": ping\n"))), read)
}
