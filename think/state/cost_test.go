package state

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatAStepAsksOfTheDisk: one write and one sync, no read, whatever the
// length of the run; looking for other processes is a stat.
func TestWhatAStepAsksOfTheDisk(t *testing.T) {
	disk, d := stage(t, operation{prepare: grow(150)})
	require.NoError(t, appendNext(151)(d))
	journal := " " + journalName(faultKey)
	require.Equal(t, []string{"lock" + journal, "stat" + journal, "write" + journal, "sync" + journal,
		"fstat" + journal, "unlock" + journal}, disk.trace)

	disk.trace = nil
	_, _, err := d.Head(context.Background(), faultKey)
	require.NoError(t, err)
	require.Equal(t, []string{"stat" + journal}, disk.trace)
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

// TestFewHandles: beyond the limit the journal used longest ago is closed, and
// verified again when it is used again.
func TestFewHandles(t *testing.T) {
	disk := newSimDisk()
	d := newDir(disk, Options{MaxOpen: 2, Now: fixedNow})
	for i := range 5 {
		_, err := d.Append(context.Background(), Key{"w", fmt.Sprint("r", i)}, smallRecord(1))
		require.NoError(t, err)
	}
	require.Equal(t, 2, disk.open)
	disk.trace = nil
	_, err := d.Append(context.Background(), Key{"w", "r0"}, smallRecord(2))
	require.NoError(t, err)
	require.Equal(t, 2, disk.open)
	calls := strings.Join(disk.trace, "\n")
	require.Contains(t, calls, "read")
	require.NoError(t, d.Close())
	require.Zero(t, disk.open)
}
