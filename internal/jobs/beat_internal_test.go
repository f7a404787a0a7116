package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An outage that hides a heartbeat and ends before half of the lease is over leaves
// time for the next heartbeat, even if each attempt takes the two seconds after which
// an unreachable database is reported.
func TestAFailedHeartbeatIsRepeatedSoon(t *testing.T) {
	const lease, attempt = 15 * time.Second, 2 * time.Second
	at := untilBeat(lease, nil)
	for at < lease/2 {
		at += attempt + untilBeat(lease, errors.New("away"))
	}
	require.Less(t, at, lease*3/4)
}
