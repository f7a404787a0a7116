package numbers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/hub/numbers"
)

func TestRunsAreCounted(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(name, outcome string, daysAgo int, took time.Duration) numbers.Run {
		ended := now.AddDate(0, 0, -daysAgo)
		return numbers.Run{Name: name, Outcome: outcome, Began: ended.Add(-took), Ended: ended, Ends: outcome != "waiting", Refused: 1, Tokens: 10, Cost: 0.5}
	}
	runs := []numbers.Run{at("b", "done", 0, time.Minute), at("a", "done", 0, time.Second), at("a", "failed", 1, 3*time.Second), at("a", "done", 1, 2*time.Second), at("a", "waiting", 40, time.Hour)}
	rows := numbers.Rows(runs)
	require.Equal(t, numbers.Row{Name: "a", Runs: 4, Refused: 4, Tokens: 40, Cost: 2, Took: 2 * time.Second,
		Outcomes: []numbers.Outcome{{Status: "done", Count: 2}, {Status: "failed", Count: 1}, {Status: "waiting", Count: 1}}}, rows[0])
	require.Equal(t, "b", rows[1].Name)

	bars, top := numbers.Days(runs, 14, now, func(numbers.Run) float64 { return 1 })
	require.Len(t, bars, 14)
	require.InDelta(t, 2, top, 0)
	require.Equal(t, "2026-03-02", bars[13].Day)
	require.Equal(t, numbers.ChartHeight, bars[13].Height)
	require.Equal(t, numbers.ChartHeight, bars[12].Height)
	require.Zero(t, bars[0].Height)
	require.LessOrEqual(t, bars[13].X+bars[13].Width, numbers.ChartWidth)

	bars, top = numbers.Days(nil, 14, now, func(numbers.Run) float64 { return 1 })
	require.Zero(t, top)
	require.Zero(t, bars[3].Height)
}
