package state

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// TestReadersGetReadErrors: whichever call of the disk fails, a reader gets an error of
// reading, never STATE_NOT_SAVED.
func TestReadersGetReadErrors(t *testing.T) {
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
			require.ErrorContains(t, err, "r.journal", "the file")
			require.ErrorContains(t, err, syscall.EIO.Error(), "the cause")
		}
	}
	require.Greater(t, calls, 4, "open, stat, lock, read, sync")
}
