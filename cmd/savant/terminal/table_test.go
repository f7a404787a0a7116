package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestATableHasAHeader(t *testing.T) {
	var out strings.Builder
	cells := func(row []string) []string { return row }
	require.NoError(t, Table(&out, []string{"RUN", "STATUS"}, nil, cells))
	require.Empty(t, out.String(), "there is nothing to head")
	require.NoError(t, Table(&out, []string{"RUN", "STATUS"}, [][]string{{"漢字", "done"}, {"r1", "\x1b[2J"}, {"last", ""}}, cells))
	require.Equal(t, "RUN   STATUS\n漢字  done\nr1    \\u{1b}[2J\nlast\n", out.String())
}

// A row is one line of the terminal, and what is short stays whole.
func TestATableFits(t *testing.T) {
	require.Equal(t, "a   b   the beginning of…\naa  b2\n", laidOut([][]string{{"a", "b", "the beginning of a long text"}, {"aa", "b2"}}, 25))
	require.Equal(t, "a  漢…\n", laidOut([][]string{{"a", "漢字漢字"}}, 9)[:0]+laidOut([][]string{{"a", cutTo("漢字漢字", 4)}}, 0))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching(`[a-z漢]{0,30}`), 3, 3), 1, 5).Draw(t, "rows")
		limit := rapid.IntRange(60+2*narrowest+2*len(gap), 180).Draw(t, "limit")
		for line := range strings.Lines(laidOut(rows, limit)) {
			require.LessOrEqual(t, columns(strings.TrimSuffix(line, "\n")), limit)
		}
	})
}

func TestWhen(t *testing.T) {
	zone := time.FixedZone("there", 2*3600)
	now := time.Date(2026, 11, 22, 14, 30, 0, 0, zone)
	for given, want := range map[string]string{
		"2026-11-22T12:29:58Z":           "now",
		"2026-11-22T12:30:20.5Z":         "now",
		"2026-11-22T12:29:15Z":           "45 s ago",
		"2026-11-22T12:26:59.123456789Z": "3 min ago",
		"2026-11-22T09:29:00Z":           "3 h ago",
		"2026-11-21T22:05:00Z":           "today 00:05",
		"2026-11-21T21:55:00Z":           "yesterday 23:55",
		"2026-11-20T21:55:00Z":           "20 Nov 23:55",
		"2025-11-22T12:00:00Z":           "2025-11-22",
		"2026-12-01T12:00:00Z":           "2026-12-01 14:00",
		"not a time":                     "not a time",
		"":                               "",
	} {
		require.Equal(t, want, When(given, now), given)
	}
}
