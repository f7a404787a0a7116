package state

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// checkpointed returns a run of three records with a snapshot of the second
// and a checkpoint of the first.
func checkpointed(t *testing.T) (*simDisk, *Dir) {
	disk, _ := smallRun(t, faultKey, 3)
	d := openSim(disk)
	require.NoError(t, project(2, true)(d))
	require.NoError(t, checkpoint("c", 1)(d))
	return disk, d
}

func (d *simDisk) fileAt(name string) *simFile {
	_, found, err := d.find(name)
	if err != nil {
		return nil
	}
	return found
}

func TestSnapshotFileIsReadable(t *testing.T) {
	disk, _ := checkpointed(t)
	data := disk.fileAt(snapshotName(faultKey)).current
	require.True(t, strings.HasPrefix(string(data), "{\n  \"format\": 1,\n  \"workflow\": \"w\",\n  \"run\": \"r\",\n  \"version\": 2,\n"))
	require.True(t, json.Valid(data))
	require.Equal(t, data, disk.fileAt(latestName("w")).current)
}

// TestDamagedSnapshotIsPassedOver: the journal is the truth; Check tells.
func TestDamagedSnapshotIsPassedOver(t *testing.T) {
	whole := func() []byte {
		disk, _ := checkpointed(t)
		return disk.fileAt(snapshotName(faultKey)).current
	}()
	for name, data := range map[string][]byte{
		"empty":       {},
		"zeroes":      make([]byte, len(whole)),
		"cut":         whole[:len(whole)/2],
		"edited":      bytes.Replace(whole, []byte(`"at": 2`), []byte(`"at": 3`), 1),
		"other run":   bytes.Replace(whole, []byte(`"run": "r"`), []byte(`"run": "s"`), 1),
		"other chain": bytes.Replace(whole, []byte(`"version": 2`), []byte(`"version": 1`), 1),
		"no state":    []byte(`{"format":1,"workflow":"w","run":"r"}`),
	} {
		disk, d := checkpointed(t)
		disk.fileAt(snapshotName(faultKey)).set(data)
		found, err := d.Load(context.Background(), faultKey, "")
		require.NoError(t, err, name)
		require.Zero(t, found, name)
		problems, err := d.Check(context.Background(), faultKey)
		require.NoError(t, err, name)
		require.Len(t, problems, 1, name)
		require.Equal(t, snapshotName(faultKey), problems[0].File, name)
		require.NotEmpty(t, problems[0].Message, name)
		require.False(t, problems[0].Blocking, name)
		require.NoError(t, project(2, false)(d), "it is made again")
		problems, err = d.Check(context.Background(), faultKey)
		require.NoError(t, err, name)
		require.Empty(t, problems, name)
	}
}

// TestJournalBehindItsSnapshotIsDamage: a journal cut between two records is a
// whole one, but its snapshot knows of more.
func TestJournalBehindItsSnapshotIsDamage(t *testing.T) {
	disk, _ := checkpointed(t)
	journal := disk.fileAt(journalName(faultKey))
	journal.set(journal.current[:bytes.IndexByte(journal.current, '\n')+1])
	_, err := openSim(disk).Load(context.Background(), faultKey, "")
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, "record 1", "where the journal ends")
	problems, err := openSim(disk).Check(context.Background(), faultKey)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.True(t, problems[0].Blocking)
}

func TestDamagedCheckpointIsRefused(t *testing.T) {
	disk, d := checkpointed(t)
	file := disk.fileAt(checkpointName(faultKey, "c"))
	whole := slices.Clone(file.current)
	for name, data := range map[string][]byte{
		"edited":      bytes.Replace(whole, []byte(`"at": 1`), []byte(`"at": 9`), 1),
		"other chain": bytes.Replace(whole, []byte(`"version": 1`), []byte(`"version": 2`), 1),
		"cut":         whole[:40],
	} {
		file.set(data)
		_, err := d.Load(context.Background(), faultKey, "c")
		require.ErrorIs(t, err, fault.StateCorrupt, name)
		problems, err := d.Check(context.Background(), faultKey)
		require.NoError(t, err)
		require.Len(t, problems, 1, name)
		require.Equal(t, checkpointName(faultKey, "c"), problems[0].File)
	}
}

func TestNewerSnapshotIsRefused(t *testing.T) {
	disk, d := checkpointed(t)
	for _, name := range []string{snapshotName(faultKey), checkpointName(faultKey, "c")} {
		file := disk.fileAt(name)
		file.set(bytes.Replace(file.current, []byte(`"format": 1`), []byte(`"format": 2`), 1))
	}
	_, err := d.Load(context.Background(), faultKey, "")
	require.ErrorIs(t, err, ErrNewerFormat)
	_, err = d.Load(context.Background(), faultKey, "c")
	require.ErrorIs(t, err, ErrNewerFormat)
	_, err = d.Checkpoints(context.Background(), faultKey)
	require.ErrorIs(t, err, ErrNewerFormat)
	kept := slices.Clone(disk.fileAt(snapshotName(faultKey)).current)
	require.ErrorIs(t, project(3, true)(d), ErrNewerFormat)
	require.Equal(t, kept, disk.fileAt(snapshotName(faultKey)).current)
}

func TestCheckNamesADamagedRecord(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	first := bytes.IndexByte(file.current, '\n')
	file.current[first+20] ^= 1
	problems, err := openSim(disk).Check(context.Background(), faultKey)
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.True(t, problems[0].Blocking)
	require.Contains(t, problems[0].Message, "record 2")
	require.NoError(t, openSim(disk).Delete(context.Background(), faultKey), "a damaged run can be deleted")
	require.NoError(t, openSim(disk).Undelete(context.Background(), faultKey))
	_, err = openSim(disk).Check(context.Background(), Key{"w", "none"})
	require.ErrorIs(t, err, fault.UnknownRun)
}

// TestTwoProcessesProject: a late projection of one process does not replace
// the newer one of another.
func TestTwoProcessesProject(t *testing.T) {
	disk, _ := smallRun(t, faultKey, 3)
	require.NoError(t, project(3, true)(openSim(disk)))
	require.NoError(t, project(1, false)(openSim(disk)))
	found, err := openSim(disk).Load(context.Background(), faultKey, "")
	require.NoError(t, err)
	require.Equal(t, 3, found.Version)
}

func TestDamagedArtifactIsRefusedAndPutAgain(t *testing.T) {
	disk := newSimDisk()
	d := openSim(disk)
	digest, err := d.PutArtifact(context.Background(), faultValue)
	require.NoError(t, err)
	disk.fileAt(artifactName(digest)).current[3] ^= 1
	_, err = d.Artifact(context.Background(), digest)
	require.ErrorIs(t, err, fault.StateCorrupt)
	_, err = d.PutArtifact(context.Background(), faultValue)
	require.NoError(t, err)
	found, err := d.Artifact(context.Background(), digest)
	require.NoError(t, err)
	require.Equal(t, faultValue, found)
}

// TestNothingOfADeletedRunComesBack: another process tries to delete the run before
// each call of the disk that a save makes. Either the lock keeps it out, or the save
// finds no run.
func TestNothingOfADeletedRunComesBack(t *testing.T) {
	once, cancel := context.WithCancel(context.Background())
	cancel() // a lock that is held is not waited for
	for _, name := range []string{"", "c"} {
		outcomes := map[bool]int{}
		for n := 1; ; n++ {
			disk, _ := smallRun(t, faultKey, 3)
			d, other := openSim(disk), openSim(disk)
			snapshot, err := snapshotAt(d, 3)
			require.NoError(t, err)
			disk.calls = 0
			deleted := false
			disk.meet = func() {
				if disk.calls == n {
					deleted = other.Delete(once, faultKey) == nil
				}
			}
			err = d.Save(context.Background(), faultKey, name, snapshot)
			disk.meet = nil
			if disk.calls < n {
				break
			}
			outcomes[deleted]++
			if !deleted {
				require.NoError(t, err, "%q, call %d", name, n)
				require.NoError(t, other.Delete(context.Background(), faultKey), "%q, call %d", name, n)
			} else {
				require.ErrorIs(t, err, fault.UnknownRun, "%q, call %d", name, n)
			}
			require.False(t, d.orphan(faultKey), "%q, call %d", name, n)
			require.Nil(t, disk.fileAt(latestName("w")), "%q, call %d", name, n)
			require.NoError(t, d.Undelete(context.Background(), faultKey), "%q, call %d", name, n)
		}
		require.Positive(t, outcomes[true], "%q: none before the lock", name)
		require.Greater(t, outcomes[false], 4, "%q: few under the lock", name)
	}
}

// TestUndeleteBringsBackTheLatest: the file of the workflow's latest run is
// there again, unless another run has moved since.
func TestUndeleteBringsBackTheLatest(t *testing.T) {
	disk, _ := smallRun(t, faultKey, 3)
	d := openSim(disk)
	require.NoError(t, project(3, true)(d))
	latest := disk.fileAt(latestName("w")).current
	require.NoError(t, d.Delete(t.Context(), faultKey))
	require.Nil(t, disk.fileAt(latestName("w")))
	require.NoError(t, d.Undelete(t.Context(), faultKey))
	require.Equal(t, latest, disk.fileAt(latestName("w")).current)

	require.NoError(t, d.Delete(t.Context(), faultKey))
	other, err := d.Append(t.Context(), Key{"w", "other"}, smallRecord(1))
	require.NoError(t, err)
	require.NoError(t, d.Save(t.Context(), Key{"w", "other"}, "", Snapshot{Version: 1, Record: other.Hash, State: []byte(`{}`)}))
	require.NoError(t, d.Undelete(t.Context(), faultKey))
	require.Contains(t, string(disk.fileAt(latestName("w")).current), "other")
}
