package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lease runs out when its owner sent no heartbeat while it was looked at. Who could
// not look for a while, as when the database was away, gives the owner another lease, but
// one only: a worker that is always busy takes the job of a lost one in the end.
func TestALookThatComesLateBeginsTheLeaseAnew(t *testing.T) {
	const lease = 8 * time.Second
	began := time.Now()
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	lives := func(s observation, now time.Time) bool { return now.Sub(s.at) < lease }

	var s observation
	for second := 0; second < 8; second += 2 {
		s = s.look("c", "b", after(second), lease)
		require.True(t, lives(s, after(second)))
		require.Equal(t, after(second+2), s.next)
	}
	require.False(t, lives(s.look("c", "b", after(8), lease), after(8)))

	s = s.look("c", "b", after(13), lease)
	require.True(t, lives(s, after(13)), "nobody looked for seven seconds")
	require.True(t, lives(s.look("c", "b2", after(30), lease), after(30)), "it sent a heartbeat")
	require.False(t, lives(s.look("c", "b", after(30), lease), after(30)), "it is late again")
	s = s.look("c", "b2", after(15), lease)
	require.True(t, lives(s.look("c", "b2", after(40), lease), after(40)), "a heartbeat counts again")
}
