package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/hub/graph"
)

// TestANightOfWaitingDoesNotHideTheRest: where a person alone is waited for, time is drawn
// shorter; where something else is at work too, it is not.
func TestANightOfWaitingDoesNotHideTheRest(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	const night = 36_000
	rows := [][]graph.Span{
		{{Began: at(0), Ended: at(10)}, {Began: at(10), Ended: at(20)}},
		{{Began: at(20), Ended: at(20 + night), Waits: true}},
		{{Began: at(20 + night), Ended: at(40 + night)}},
	}
	bars, took, squeezed := graph.Axis(rows)
	require.True(t, squeezed)
	require.Equal(t, (night+40)*time.Second, took)
	require.Equal(t, [][]graph.Bar{{{0, 166}, {166, 167}}, {{333, 333}}, {{666, 334}}}, bars)

	bars, _, squeezed = graph.Axis(append(rows, []graph.Span{{Began: at(0), Ended: at(40 + night)}}))
	require.False(t, squeezed)
	require.Equal(t, []graph.Bar{{0, 4}, {0, 4}}, bars[0], "as narrow as can be seen")

	bars, took, _ = graph.Axis([][]graph.Span{{}, {{Began: at(1), Ended: at(1)}}})
	require.Zero(t, took)
	require.Equal(t, [][]graph.Bar{nil, {{0, 4}}}, bars)
}
