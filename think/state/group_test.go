package state

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// ShareAlways makes every append of the store use the common log.
func ShareAlways(d *Dir) { d.group.fewest = 1 }

// TestASharedStep: one write and one sync of the log, whatever its length.
func TestASharedStep(t *testing.T) {
	disk, d := stage(t, operation{prepare: together(100)})
	log := " " + d.group.log.file.(*simHandle).name
	require.NoError(t, appendNext(101)(d))
	journal := " " + journalName(faultKey)
	require.Equal(t, []string{"lock" + journal, "stat" + journal, "write" + journal, "write" + log, "sync" + log,
		"fstat" + journal, "unlock" + journal}, disk.trace)
	disk.trace = nil
	d.group.fewest = 2
	require.NoError(t, appendNext(102)(d))
	require.Contains(t, disk.trace, "sync"+journal)
	require.NotContains(t, disk.trace, "sync"+log)
}

// TestALogStaysAfterAFailedSync: the system takes what a failed sync left for
// written, so a later sync of the journal says nothing of what the log has.
func TestALogStaysAfterAFailedSync(t *testing.T) {
	disk, d := stage(t, operation{prepare: together(4)})
	d.group.fewest = 2
	disk.failAt, disk.fault = 4, failEIO // lock, stat, write, sync
	require.Error(t, appendNext(5)(d))
	require.Equal(t, "sync "+journalName(faultKey), disk.trace[3])
	disk.failAt = -1
	d.group.fewest = 1
	require.NoError(t, appendNext(5)(d))
	d.group.end()
	disk.crash(0, rand.New(rand.NewPCG(1, 1)))
	records, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 5)
}

// TestARunThatWentAnotherWay: what a log has of a run that is another one by
// now is passed over, and so is what is no record at all.
func TestARunThatWentAnotherWay(t *testing.T) {
	disk, d := stage(t, operation{prepare: together(4)})
	data, err := readAll(disk, d.group.log.name)
	require.NoError(t, err)
	require.NoError(t, d.Delete(t.Context(), faultKey))
	first := faultRecord(1)
	first.Status = "other"
	_, err = d.Create(t.Context(), faultKey, first)
	require.NoError(t, err)
	for _, more := range []string{"", "w/r {\"version\":5,", "no record\n", "w/gone " + string(data[4:])} {
		disk.kill()
		require.NoError(t, d.replace(logFolder+"/left.log", append(data[:len(data):len(data)], more...), true))
		reopened := openSim(disk)
		names, err := reopened.logNames()
		require.NoError(t, err)
		require.Empty(t, names)
		records, err := reopened.Records(t.Context(), faultKey, 0, 0)
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.Equal(t, "other", records[0].Status)
	}
}

// TestALogOutlivesDamage: it stays while the journal before its records is
// damaged, and is taken in once that is undone.
func TestALogOutlivesDamage(t *testing.T) {
	disk, _ := stage(t, operation{prepare: together(4)})
	journal, err := disk.Open(journalName(faultKey), 0)
	require.NoError(t, err)
	whole, err := readRange(journal, 0, 40)
	require.NoError(t, err)
	disk.crash(0, rand.New(rand.NewPCG(1, 1)))
	_, err = journal.WriteAt([]byte("damage"), 20)
	require.NoError(t, err)
	damaged := openSim(disk)
	_, _, err = damaged.Head(t.Context(), faultKey)
	require.ErrorIs(t, err, fault.StateCorrupt)
	names, err := damaged.logNames()
	require.NoError(t, err)
	require.Len(t, names, 1)
	_, err = journal.WriteAt(whole, 0)
	require.NoError(t, err)
	disk.kill()
	mended := openSim(disk)
	version, _, err := mended.Head(t.Context(), faultKey)
	require.NoError(t, err)
	require.Equal(t, 4, version)
	names, err = mended.logNames()
	require.NoError(t, err)
	require.Empty(t, names)
}

// TestRunsAtOnceShareALog: all that was acknowledged is in the journals, also
// while the log is in use, and the log goes when it is not. The clock is synctest's.
func TestRunsAtOnceShareALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		d, err := Open(folder, Options{})
		require.NoError(t, err)
		ShareAlways(d)
		const runs, steps = 16, 20
		var writers sync.WaitGroup
		for i := range runs {
			writers.Go(func() { writeSteps(t, d, Key{"w", fmt.Sprint("r", i)}, steps) })
		}
		writers.Wait()
		other, err := Open(folder, Options{})
		require.NoError(t, err)
		for i := range runs {
			version, _, err := other.Head(t.Context(), Key{"w", fmt.Sprint("r", i)})
			require.NoError(t, err)
			require.Equal(t, steps, version)
		}
		require.Len(t, logsIn(t, folder), 1)
		time.Sleep(3 * restingLog)
		synctest.Wait()
		require.Empty(t, logsIn(t, folder))
		_, err = d.Append(t.Context(), Key{"w", "r0"}, faultRecord(steps+1))
		require.NoError(t, err)
		require.Len(t, logsIn(t, folder), 1)
		require.NoError(t, d.Close())
		require.Empty(t, logsIn(t, folder))
		require.NoError(t, other.Close())
	})
}

// writeSteps gives a run so many records.
func writeSteps(t *testing.T, d *Dir, key Key, steps int) {
	_, err := d.Create(context.Background(), key, faultRecord(1))
	for version := 2; version <= steps && err == nil; version++ {
		_, err = d.Append(context.Background(), key, faultRecord(version))
	}
	if err != nil {
		t.Error(err)
	}
}

func logsIn(t *testing.T, folder string) []string {
	found, err := filepath.Glob(filepath.Join(folder, logFolder, "*"+logSuffix))
	require.NoError(t, err)
	return found
}

// TestALogThatCannotBeTakenIn: who reads goes on, who writes to the run that is
// concerned is told, and other runs go on too.
func TestALogThatCannotBeTakenIn(t *testing.T) {
	other := Key{"w", "other"}
	disk, d := stage(t, operation{prepare: together(2)})
	_, err := d.Create(t.Context(), other, faultRecord(1))
	require.NoError(t, err)
	disk.kill()
	disk.refused = "write " + journalName(faultKey)
	second := openSim(disk)
	version, _, err := second.Head(t.Context(), faultKey)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	require.EqualError(t, appendNext(3)(second), "STATE_NOT_SAVED: what a process that ended left in .savant/state/.log "+
		"is not yet in the journals: .savant/state/w/r.journal was not saved: read-only file system; "+
		"mount the disk for writing, or let SAVANT_PATH be a folder that can be written")
	_, err = second.Append(t.Context(), other, faultRecord(2))
	require.NoError(t, err)
	disk.refused = ""
	require.NoError(t, appendNext(3)(second))
	names, err := second.logNames()
	require.NoError(t, err)
	require.Empty(t, names)

	disk, _ = stage(t, operation{prepare: together(2)})
	disk.kill()
	disk.refused = "names " + logFolder
	second = openSim(disk)
	require.ErrorContains(t, appendNext(3)(second), ".savant/state/.log cannot be read")
	disk.refused = ""
	require.NoError(t, appendNext(3)(second))
}
