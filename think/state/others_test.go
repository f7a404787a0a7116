package state

import (
	"context"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// The tests of this file begin with what another process left half done.

// lose is a crash that takes all that was not synced.
func lose(disk *simDisk) { disk.crash(0, rand.New(rand.NewPCG(0, 0))) }

// TestWhatIsReadIsDurable: another process was killed between write and sync.
// Once a reader got its record, a crash must not lose it.
func TestWhatIsReadIsDurable(t *testing.T) {
	for name, read := range map[string]func(*Dir) error{
		"records": func(d *Dir) error { _, err := d.Records(context.Background(), faultKey, 0, 0); return err },
		"head":    func(d *Dir) error { _, _, err := d.Head(context.Background(), faultKey); return err },
	} {
		disk, file := smallRun(t, faultKey, 2)
		open := openSim(disk)
		require.NoError(t, read(open), name) // so that it finds a journal that grew
		_, line, err := Seal(faultKey, lastOf(t, disk), smallRecord(3), fixedNow())
		require.NoError(t, err)
		handle, err := disk.Open(journalName(faultKey), 0)
		require.NoError(t, err)
		_, err = handle.WriteAt(append(line, '\n'), int64(len(file.current)))
		require.NoError(t, err)
		for _, d := range []*Dir{open, openSim(disk)} {
			require.NoError(t, read(d), name)
		}
		lose(disk)
		require.Equal(t, 3, lastOf(t, disk).Version, name)
	}
}

func lastOf(t *testing.T, disk *simDisk) Link {
	version, hash, err := openSim(disk).Head(context.Background(), faultKey)
	require.NoError(t, err)
	return Link{version, hash}
}

// failSync returns a run of two records, the sync of whose third failed, and
// with failHard also the attempt to cut it off.
func failSync(t *testing.T, kind simFault) (*simDisk, *Dir) {
	disk, d := stage(t, operation{prepare: grow(2)})
	disk.failAt, disk.fault = 4, kind
	require.ErrorIs(t, appendNext(3)(d), fault.StateNotSaved)
	require.Equal(t, "sync "+journalName(faultKey), disk.trace[3])
	disk.failAt = -1
	return disk, d
}

// TestAFailedSyncIsNotTrusted: a record that a failed sync left in memory only
// is gone, or is made durable before this process returns it, or before any process
// appends to it.
func TestAFailedSyncIsNotTrusted(t *testing.T) {
	for _, kind := range []simFault{failEIO, failHard} {
		disk, d := failSync(t, kind)
		head, _, err := d.Head(context.Background(), faultKey)
		require.NoError(t, err)
		lose(disk)
		require.Equal(t, head, lastOf(t, disk).Version)

		disk, _ = failSync(t, kind)
		other := openSim(disk)
		last, _, err := other.Head(context.Background(), faultKey)
		require.NoError(t, err)
		require.NoError(t, appendNext(last+1)(other))
		lose(disk)
		require.Equal(t, last+1, lastOf(t, disk).Version)
	}
}

// TestARunStartsClean: a Delete was interrupted after the journal had gone.
func TestARunStartsClean(t *testing.T) {
	disk, d := stage(t, operation{prepare: furnished})
	require.NoError(t, disk.Remove(journalName(faultKey)))
	_, err := d.Append(context.Background(), faultKey, smallRecord(1))
	require.NoError(t, err)
	snapshot, err := d.Load(context.Background(), faultKey, "")
	require.NoError(t, err)
	require.Zero(t, snapshot)
	_, err = d.Load(context.Background(), faultKey, "c")
	require.ErrorIs(t, err, fault.CheckpointNotFound)
	names, err := namesIn(disk, trashFolder)
	require.NoError(t, err)
	require.Len(t, names, 1, "nothing is erased")
}

// TestAnArtifactThatIsThere: another process has named it and not synced the
// name when this one is asked for the same.
func TestAnArtifactThatIsThere(t *testing.T) {
	disk := newSimDisk()
	digest, err := openSim(disk).PutArtifact(context.Background(), faultValue)
	require.NoError(t, err)
	folder := disk.folders[path.Dir(artifactName(digest))]
	clear(folder.durable)
	_, err = openSim(disk).PutArtifact(context.Background(), faultValue)
	require.NoError(t, err)
	lose(disk)
	_, err = openSim(disk).Artifact(context.Background(), digest)
	require.NoError(t, err)
}
