package state

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// elsewhere returns the records of a run of another store.
func elsewhere(t *testing.T, count int) []Record {
	_, d := stage(t, operation{prepare: grow(count)})
	records, err := d.Records(context.Background(), faultKey, 0, 0)
	require.NoError(t, err)
	return records
}

func TestAdopt(t *testing.T) {
	ctx := context.Background()
	records := elsewhere(t, 3)
	disk := newSimDisk()
	d := openSim(disk)
	require.NoError(t, d.Adopt(ctx, faultKey, records))
	found, err := openSim(disk).Records(ctx, faultKey, 0, 0)
	require.NoError(t, err)
	require.Equal(t, records, found)
	require.NoError(t, d.Adopt(ctx, faultKey, records), "the same again")
	require.ErrorIs(t, d.Adopt(ctx, faultKey, records[:2]), fault.StateConflict)
	require.NoError(t, appendNext(4)(d))
	require.ErrorIs(t, d.Adopt(ctx, faultKey, records), fault.StateConflict)
}

func TestAdoptRefuses(t *testing.T) {
	ctx := context.Background()
	records := elsewhere(t, 3)
	disk := newSimDisk()
	d := openSim(disk)
	require.ErrorIs(t, d.Adopt(ctx, faultKey, nil), fault.InvalidParams)
	require.ErrorIs(t, d.Adopt(ctx, Key{"w", "../r"}, records), fault.InvalidParams)
	require.ErrorIs(t, d.Adopt(ctx, Key{"w", "other"}, records), fault.StateCorrupt)
	require.ErrorIs(t, d.Adopt(ctx, faultKey, records[1:]), fault.StateCorrupt)
	changed := elsewhere(t, 3)
	changed[1].Status = "done"
	require.ErrorIs(t, d.Adopt(ctx, faultKey, changed), fault.StateCorrupt)
	require.Empty(t, disk.contents())
}

// TestAdoptInterrupted: all of the run is there, or nothing.
func TestAdoptInterrupted(t *testing.T) {
	ctx := context.Background()
	records := elsewhere(t, 3)
	for n := 1; ; n++ {
		disk := newSimDisk()
		disk.failAt, disk.fault = n, []simFault{failCrash, failShort}[n%2]
		err := openSim(disk).Adopt(ctx, faultKey, records)
		over := disk.calls < n
		disk.crash(float64(n%3)/2, rand.New(rand.NewPCG(1, uint64(n))))
		found, readErr := openSim(disk).Records(ctx, faultKey, 0, 0)
		if readErr != nil {
			require.ErrorIs(t, readErr, fault.UnknownRun, "call %d", n)
			require.Error(t, err, "call %d", n)
		} else {
			require.Equal(t, records, found, "call %d", n)
		}
		require.NoError(t, openSim(disk).Adopt(ctx, faultKey, records), "call %d", n)
		if over {
			return
		}
	}
}
