package state

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// damaged is a run with everything, some of it damaged.
type damaged struct {
	name string
	// spoil damages the files of furnished, whose journal has 3 records, a
	// snapshot at 2 and a checkpoint c at 1.
	spoil   func(t *testing.T, disk *simDisk)
	upTo    int
	version int
	// lost are the lost versions, and readable those of them that can still be read.
	lost, readable []int
	// kept are the files that go to the trash.
	kept        []string
	checkpoints []string
}

func change(name string, edit func(data []byte) []byte) func(*testing.T, *simDisk) {
	return func(t *testing.T, disk *simDisk) {
		_, file, err := disk.find(name)
		require.NoError(t, err)
		file.set(edit(slices.Clone(file.current)))
	}
}

// flip changes the last x of a line of a file, counting lines from 0.
func flip(line int) func([]byte) []byte {
	return func(data []byte) []byte {
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines[line][bytes.LastIndex(lines[line], []byte("xx"))] = 'y'
		return bytes.Join(lines, nil)
	}
}

func without(line int) func([]byte) []byte {
	return func(data []byte) []byte {
		lines := bytes.SplitAfter(data, []byte("\n"))
		return bytes.Join(slices.Delete(lines, line, line+1), nil)
	}
}

func both(all ...func(*testing.T, *simDisk)) func(*testing.T, *simDisk) {
	return func(t *testing.T, disk *simDisk) {
		for _, each := range all {
			each(t, disk)
		}
	}
}

func damages() []damaged {
	journal, snapshot := journalName(faultKey), snapshotName(faultKey)
	named := checkpointName(faultKey, "c")
	remove := func(name string) func(*testing.T, *simDisk) {
		return func(t *testing.T, disk *simDisk) {
			require.NoError(t, disk.Remove(name))
			require.NoError(t, disk.SyncFolder(path.Dir(name)))
		}
	}
	edited := func(data []byte) []byte { return bytes.Replace(data, []byte(`"at": `), []byte(`"at": 9`), 1) }
	cleared := func([]byte) []byte { return []byte("{}") }
	return []damaged{
		{name: "last record", spoil: change(journal, flip(2)), version: 2, lost: []int{3}, kept: []string{"journal"}},
		{name: "middle record", spoil: change(journal, flip(1)), version: 1, lost: []int{2, 3}, readable: []int{3},
			kept: []string{"journal", "latest.json", "snapshot.json"}},
		{name: "first record", spoil: change(journal, flip(0)), version: 0, lost: []int{1, 2, 3}, readable: []int{2, 3},
			kept: []string{"checkpoint.c.json", "journal", "latest.json", "snapshot.json"}},
		{name: "cut middle", spoil: change(journal, without(1)), version: 1, lost: []int{2, 3}, readable: []int{3},
			kept: []string{"journal", "latest.json", "snapshot.json"}},
		{name: "cut end", spoil: both(change(journal, without(2)), change(journal, without(1))), version: 1, lost: []int{2, 3},
			kept: []string{"latest.json", "snapshot.json"}},
		{name: "emptied", spoil: change(journal, func([]byte) []byte { return nil }), version: 0, lost: []int{1, 2},
			kept: []string{"checkpoint.c.json", "journal", "latest.json", "snapshot.json"}},
		{name: "journal gone", spoil: remove(journal), version: 0, lost: []int{1, 2},
			kept: []string{"checkpoint.c.json", "journal", "latest.json", "snapshot.json"}},
		{name: "edited snapshot", spoil: change(snapshot, edited), version: 3, kept: []string{"snapshot.json"}},
		{name: "latest is nothing", spoil: change(latestName("w"), cleared), version: 3, kept: []string{"latest.json"}},
		{name: "edited checkpoint", spoil: change(named, edited), version: 3, kept: []string{"checkpoint.c.json"}, checkpoints: []string{"c"}},
		{name: "checkpoint is nothing", spoil: change(named, cleared), version: 3, kept: []string{"checkpoint.c.json"}},
		{name: "given up from a version", spoil: func(*testing.T, *simDisk) {}, upTo: 1, version: 1, lost: []int{2, 3}, readable: []int{2, 3},
			kept: []string{"journal", "latest.json", "snapshot.json"}},
	}
}

// spoiled returns a disk with a damaged run and another one.
func (c damaged) spoiled(t *testing.T) *simDisk {
	disk, d := stage(t, operation{prepare: furnished})
	_, err := d.Append(context.Background(), Key{"w", "other"}, faultRecord(1))
	require.NoError(t, err)
	c.spoil(t, disk)
	disk.calls, disk.trace = 0, nil
	return disk
}

func TestRepair(t *testing.T) {
	for _, c := range damages() {
		t.Run(c.name, func(t *testing.T) {
			disk := c.spoiled(t)
			d := openSim(disk)
			if c.upTo == 0 {
				problems, err := d.Check(context.Background(), faultKey)
				require.NoError(t, err)
				require.NotEmpty(t, problems)
			}
			made, err := d.Repair(context.Background(), faultKey, c.upTo)
			require.NoError(t, err)
			require.Equal(t, c.version, made.Version)
			var lost, readable []int
			for _, each := range made.Lost {
				lost = append(lost, each.Version)
				if each.Data != nil {
					readable = append(readable, each.Version)
				}
			}
			require.Equal(t, c.lost, lost)
			require.Equal(t, c.readable, readable)
			var names []string
			for _, each := range made.Checkpoints {
				names = append(names, each.Name)
				require.Equal(t, 1, each.Version)
			}
			require.Equal(t, c.checkpoints, names)
			requireRepaired(t, disk, c, made.Kept)
		})
	}
}

// requireRepaired: the run has its good versions and goes on, the damaged files
// are in the trash, and the other run knows nothing of it.
func requireRepaired(t *testing.T, disk *simDisk, c damaged, kept string) {
	names, err := namesIn(disk, kept)
	require.NoError(t, err)
	require.Equal(t, c.kept, slices.Sorted(slices.Values(names)))
	d := openSim(disk)
	problems, err := d.Check(context.Background(), faultKey)
	if c.version == 0 {
		require.ErrorIs(t, err, fault.UnknownRun)
		err = d.Undelete(context.Background(), faultKey)
		require.ErrorIs(t, err, fault.UnknownRun, "what is damaged is no deleted run")
		_, err = d.Append(context.Background(), faultKey, faultRecord(1))
		require.NoError(t, err)
	} else {
		require.NoError(t, err)
		require.Empty(t, problems)
		_, err = d.Repair(context.Background(), faultKey, 0)
		require.NoError(t, err)
		_, err = d.Append(context.Background(), faultKey, faultRecord(c.version+1))
		require.NoError(t, err)
	}
	records, err := d.Records(context.Background(), Key{"w", "other"}, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 1)
}

// TestRepairInterrupted stops a repair at every call: the run is then as
// damaged as it was or repaired, a further repair succeeds, and what the files
// held is still somewhere.
func TestRepairInterrupted(t *testing.T) {
	for _, c := range damages() {
		t.Run(c.name, func(t *testing.T) {
			before := c.spoiled(t).contents()
			for n := 1; ; n++ {
				disk := c.spoiled(t)
				disk.failAt, disk.fault = n, []simFault{failCrash, failENOSPC}[n%2]
				_, _ = openSim(disk).Repair(context.Background(), faultKey, c.upTo) // what it reports is of no matter here
				over := disk.calls < n
				disk.crash(float64(n%3)/2, rand.New(rand.NewPCG(1, uint64(n))))
				made, err := openSim(disk).Repair(context.Background(), faultKey, c.upTo)
				if c.version > 0 || err == nil {
					require.NoError(t, err, "call %d", n)
					require.Equal(t, c.version, made.Version, "call %d", n)
				} else {
					require.ErrorIs(t, err, fault.UnknownRun, "call %d", n)
				}
				after := disk.contents()
				for content := range before {
					require.Contains(t, after, content, "call %d: something is lost", n)
				}
				if over {
					return
				}
			}
		})
	}
}

// contents returns what the files hold, whatever their names.
func (d *simDisk) contents() map[string]bool {
	found := map[string]bool{}
	for name, folder := range d.folders {
		if strings.HasPrefix(name, headFolder) {
			continue // it only repeats what the journal has
		}
		for file := range maps.Values(folder.current) {
			found[string(file.current)] = true
		}
	}
	return found
}

func TestRepairRefusesNewerFormats(t *testing.T) {
	for _, name := range []string{journalName(faultKey), snapshotName(faultKey), checkpointName(faultKey, "c"), latestName("w")} {
		disk, d := stage(t, operation{prepare: furnished})
		folder, file, err := disk.find(name)
		require.NoError(t, err)
		text := `{"format":2,"run":"r","state":[7],"version":"new"}` + "\n"
		file.set([]byte(text))
		_, err = d.Repair(context.Background(), faultKey, 0)
		require.ErrorIs(t, err, ErrNewerFormat, name)
		require.Equal(t, text, string(folder.current[path.Base(name)].current), name)
		problems, err := d.Check(context.Background(), faultKey)
		require.NoError(t, err)
		require.Contains(t, problems[0].Message, "format 2", name)
	}
}

func TestRepairOfAWholeRunChangesNothing(t *testing.T) {
	disk, d := stage(t, operation{prepare: furnished})
	before := mustLook(t, disk)
	made, err := d.Repair(context.Background(), faultKey, 0)
	require.NoError(t, err)
	require.Equal(t, Repaired{Version: 3}, made)
	require.Equal(t, before, mustLook(t, disk))
	_, err = d.Repair(context.Background(), Key{"w", "none"}, 0)
	require.ErrorIs(t, err, fault.UnknownRun)
}

// TestRepairWhileAnotherProcessHasTheRun: it goes on with what is left.
func TestRepairWhileAnotherProcessHasTheRun(t *testing.T) {
	disk, file := smallRun(t, faultKey, 4)
	other := openSim(disk)
	_, err := other.Append(context.Background(), faultKey, smallRecord(5))
	require.NoError(t, err)
	flipped := slices.Clone(file.current)
	flipped[bytes.Index(flipped, []byte("@ 3"))] = '#'
	file.set(flipped)
	_, err = openSim(disk).Repair(context.Background(), faultKey, 0)
	require.NoError(t, err)
	_, err = other.Append(context.Background(), faultKey, smallRecord(6))
	require.ErrorIs(t, err, fault.StateConflict)
	_, err = other.Append(context.Background(), faultKey, smallRecord(3))
	require.NoError(t, err)
}

func TestQuarantine(t *testing.T) {
	disk, d := stage(t, operation{prepare: func(*testing.T, *simDisk, *Dir) {}})
	digest, err := d.PutArtifact(context.Background(), faultValue)
	require.NoError(t, err)
	kept, err := d.Quarantine(context.Background(), digest)
	require.NoError(t, err)
	require.Empty(t, kept, "a whole one stays")
	_, file, err := disk.find(artifactName(digest))
	require.NoError(t, err)
	file.set([]byte("changed"))
	kept, err = d.Quarantine(context.Background(), digest)
	require.NoError(t, err)
	moved, err := readAll(disk, path.Join(kept, digest))
	require.NoError(t, err)
	require.Equal(t, "changed", string(moved))
	kept, err = d.Quarantine(context.Background(), digest)
	require.NoError(t, err)
	require.Empty(t, kept, "a missing one leaves nothing")
}
