package state

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// TestWhoReadsIsToldOfReading: whatever call of the disk fails, who only reads
// is not told that something of theirs was not saved.
func TestWhoReadsIsToldOfReading(t *testing.T) {
	calls := 0
	for n := 1; ; n++ {
		disk, _ := stage(t, operation{prepare: grow(2)})
		reader := openSim(disk) // which knows nothing of the run yet
		disk.calls, disk.failAt, disk.fault = 0, n, failEIO
		_, err := reader.Records(context.Background(), faultKey, 0, 0)
		if disk.calls < n {
			break
		}
		if err != nil {
			calls++
			require.NotErrorIs(t, err, fault.StateNotSaved, disk.trace[len(disk.trace)-1])
			require.ErrorContains(t, err, "r.journal cannot be read: input/output error; the disk reports an error")
		}
	}
	require.Greater(t, calls, 4, "open, stat, lock, read, sync")
}
