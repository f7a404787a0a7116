package state

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func TestRandomFaultsLoseNothingAcknowledged(t *testing.T) {
	for seed := range thorough(12, 60) {
		random := rand.New(rand.NewPCG(seed, 7))
		disk := newSimDisk()
		d := openSim(disk)
		acknowledged := []Record{}
		for range 60 {
			disk.calls, disk.failAt, disk.fault = 0, -1, simFault(random.IntN(int(failCrash)+1))
			if random.IntN(2) == 0 {
				disk.failAt = 1 + random.IntN(12)
			}
			made, err := step(d, len(acknowledged))
			if err == nil {
				acknowledged = append(acknowledged, made)
			}
			if disk.failAt = -1; disk.dead || random.IntN(10) == 0 {
				disk.crash(random.Float64(), random)
				d = openSim(disk)
			} else if random.IntN(5) == 0 && !hasUnsynced(d) {
				d = openSim(disk) // another process
			}
			acknowledged = requireKept(t, d, acknowledged, seed)
		}
	}
}

// hasUnsynced reports whether a store knows of a record that no sync reached and no
// truncation removed. Another process cannot know: until one of the two
// appends, it takes that record for durable. It needs two faults and is the
// one case that is not covered.
func hasUnsynced(d *Dir) bool {
	j := d.use(faultKey)
	defer d.leave(j)
	return j.verified.unsynced
}

// step adds a record to a run of some length, which it begins if it is empty.
func step(d *Dir, length int) (Record, error) {
	return d.Append(context.Background(), faultKey, faultRecord(length+1))
}

// requireKept: the run has the acknowledged records and at most one more, which counts
// from now on, because it was read.
func requireKept(t *testing.T, d *Dir, acknowledged []Record, seed uint64) []Record {
	found, err := d.Records(context.Background(), faultKey, 0, 0)
	if len(acknowledged) == 0 && errors.Is(err, fault.UnknownRun) {
		return acknowledged
	}
	require.NoError(t, err, "seed %d", seed)
	require.LessOrEqual(t, len(found), len(acknowledged)+1, "seed %d", seed)
	require.GreaterOrEqual(t, len(found), len(acknowledged), "seed %d", seed)
	require.Equal(t, acknowledged, found[:len(acknowledged)], "seed %d", seed)
	return found
}
