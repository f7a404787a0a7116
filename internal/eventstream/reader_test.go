package eventstream

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However a stream is cut, its lines are those of the whole.
func TestEventLinesAreThoseOfTheWhole(t *testing.T) {
	whole := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("a:\r\n\ufeff")), 0, 30, -1).Draw(t, "text")
		var in io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "byte by byte") {
			in = iotest.OneByteReader(in)
		}
		events := NewReader(in)
		var read []string
		for {
			line, err := events.line()
			read = append(read, string(line))
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
		}
		require.Equal(t, whole.Replace(strings.TrimPrefix(text, "\ufeff")), strings.Join(read, "\n"))
	})
}

// endless repeats a text.
type endless string

func (e endless) Read(into []byte) (int, error) { return copy(into, e), nil }

// A stream that sends and sends and has no events is ended; one with large events is
// not.
func TestAStreamWithoutEventsIsEnded(t *testing.T) {
	for _, text := range []string{": ping\n\n", "\n", "event: x\n", "dat", ":", "id: 1\ndat: 2\n\n"} {
		events, err, read := NewReader(endless(text)), error(nil), 0
		for ; err == nil && read <= maxQuiet; read++ {
			_, err = events.Next()
		}
		require.ErrorIs(t, err, ErrQuiet, text)
	}
	large := strings.Repeat("x", 2*maxQuiet)
	events := NewReader(strings.NewReader(strings.Repeat(": ping\ndata: "+large+"\n\n", 3)))
	for range 3 {
		found, err := events.Next()
		require.NoError(t, err)
		require.Equal(t, large, string(found.Text))
	}
	_, err := events.Next()
	require.True(t, errors.Is(err, io.EOF))
}
