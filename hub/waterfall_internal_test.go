package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestANightOfWaitingDoesNotHideTheRest: where a person alone is waited for, time is drawn
// shorter; where something else is at work too, it is not.
func TestANightOfWaitingDoesNotHideTheRest(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	const night = 36_000
	tried := attempts{
		{{began: at(0), ended: at(10), kind: "refused"}, {began: at(10), ended: at(20), kind: "good"}},
		{{began: at(20), ended: at(20 + night), kind: "waits", waits: true}},
		{{began: at(20 + night), ended: at(40 + night), kind: "good"}},
	}
	w := &waterfall{Rows: make([]waterfallRow, len(tried))}
	w.layOut(tried)
	require.True(t, w.Squeezed)
	require.Equal(t, "10h0m40s", w.Took)
	require.Equal(t, []waterfallBar{{0, 166, "refused"}, {166, 167, "good"}}, w.Rows[0].Bars)
	require.Equal(t, []waterfallBar{{333, 333, "waits"}}, w.Rows[1].Bars)
	require.Equal(t, []waterfallBar{{666, 334, "good"}}, w.Rows[2].Bars)

	tried = append(tried, []attempt{{began: at(0), ended: at(40 + night), kind: "going"}})
	w = &waterfall{Rows: make([]waterfallRow, len(tried))}
	w.layOut(tried)
	require.False(t, w.Squeezed)
	require.Equal(t, waterfallBar{0, leastBar, "refused"}, w.Rows[0].Bars[0], "as narrow as can be seen")
}
