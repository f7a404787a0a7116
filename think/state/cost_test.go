package state

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatAStepAsksOfTheDisk: one write and one sync of the journal and a write of its
// second place, no read, whatever the
// length of the run; looking for other processes reads nothing either.
func TestWhatAStepAsksOfTheDisk(t *testing.T) {
	disk, d := stage(t, operation{prepare: grow(150)})
	require.NoError(t, appendNext(151)(d))
	journal := " " + journalName(faultKey)
	require.Equal(t, []string{"lock" + journal, "stat" + journal, "write" + journal, "sync" + journal,
		"fstat" + journal, "write " + headName(faultKey), "unlock" + journal}, disk.trace)

	disk.trace = nil
	_, _, err := d.Head(context.Background(), faultKey)
	require.NoError(t, err)
	require.Equal(t, []string{"lock" + journal, "stat" + journal, "unlock" + journal}, disk.trace)
}

// TestReadingOne: one record costs a read of that record, wherever it is.
func TestReadingOne(t *testing.T) {
	disk, d := stage(t, operation{prepare: grow(150)})
	total := 0
	disk.read = func(bytes int) { total += bytes }
	for _, version := range []int{2, 75, 150} {
		total = 0
		records, err := d.Records(context.Background(), faultKey, version-1, 1)
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.Equal(t, version, records[0].Version)
		require.Less(t, total, 4*sector)
	}
}

// TestOpeningReadsOnce: the first read of a run goes over its journal once, but for the head.
func TestOpeningReadsOnce(t *testing.T) {
	disk, _ := stage(t, operation{prepare: grow(150)})
	d := openSim(disk)
	total := 0
	disk.read = func(bytes int) { total += bytes }
	records, err := d.Records(t.Context(), faultKey, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 150)
	require.Less(t, total, len(disk.fileAt(journalName(faultKey)).current)+4*headLength)

	_, err = openSim(disk).Append(t.Context(), faultKey, faultRecord(151))
	require.NoError(t, err)
	for after, count := range map[int]int{0: 151, 149: 2, 150: 1} {
		records, err = openSim(disk).Records(t.Context(), faultKey, after, 0)
		require.NoError(t, err)
		require.Len(t, records, count)
	}
	_, err = openSim(disk).Append(t.Context(), faultKey, faultRecord(152))
	require.NoError(t, err)
	records, err = d.Records(t.Context(), faultKey, 148, 3)
	require.NoError(t, err, "of which it verifies one anew and two for the first time")
	require.Len(t, records, 3)
	require.Equal(t, 149, records[0].Version)
	require.Equal(t, 151, records[2].Version)
}

// TestFewHandles: beyond the limit the journal used longest ago is closed, and
// verified again when it is used again.
func TestFewHandles(t *testing.T) {
	disk := newSimDisk()
	d := newDir(disk, Options{MaxOpen: 2, Now: fixedNow})
	for i := range 5 {
		_, err := d.Append(context.Background(), Key{"w", fmt.Sprint("r", i)}, smallRecord(1))
		require.NoError(t, err)
	}
	require.Equal(t, 4, disk.open, "each with its second place")
	disk.trace = nil
	_, err := d.Append(context.Background(), Key{"w", "r0"}, smallRecord(2))
	require.NoError(t, err)
	require.Equal(t, 4, disk.open)
	calls := strings.Join(disk.trace, "\n")
	require.Contains(t, calls, "read")
	require.NoError(t, d.Close())
	require.Zero(t, disk.open)
}
