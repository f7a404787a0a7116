package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
)

// smallRun returns a disk with a run of short records and its journal.
func smallRun(t require.TestingT, key Key, count int) (*simDisk, *simFile) {
	disk := newSimDisk()
	d := openSim(disk)
	_, err := d.Append(context.Background(), key, smallRecord(1))
	require.NoError(t, err)
	for version := 2; version <= count; version++ {
		_, err := d.Append(context.Background(), key, smallRecord(version))
		require.NoError(t, err)
	}
	return disk, disk.folders[runsFolder(key.Workflow)].current[key.Run+journalSuffix]
}

func smallRecord(version int) Record {
	return Record{Version: version, Kind: "result", Status: "running",
		Data: json.RawMessage(fmt.Sprintf(`{"v":"@ %d"}`, version)), State: "h"}
}

// set replaces the content of a file, as an editor would.
func (f *simFile) set(data []byte) {
	f.current, f.durable = slices.Clone(data), slices.Clone(data)
	f.dirty = make([]bool, len(data))
	f.modified++
}

// requireDamaged: the run is refused by name and record, in every way to use
// it, and its file is kept as it is.
func requireDamaged(t require.TestingT, disk *simDisk, file *simFile, what string) {
	kept := slices.Clone(file.current)
	for _, use := range []func(*Dir) error{
		func(d *Dir) error { _, err := d.Records(context.Background(), faultKey, 0, 0); return err },
		func(d *Dir) error { _, err := d.Append(context.Background(), faultKey, smallRecord(4)); return err },
		func(d *Dir) error { _, err := d.Append(context.Background(), faultKey, smallRecord(1)); return err },
		func(d *Dir) error { _, _, err := d.Head(context.Background(), faultKey); return err },
	} {
		err := use(openSim(disk))
		require.ErrorIs(t, err, fault.StateCorrupt, what)
		require.ErrorContains(t, err, journalName(faultKey), what)
		require.Equal(t, kept, file.current, what)
	}
}

func TestEveryFlippedBitIsDamage(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	whole := slices.Clone(file.current)
	for i := range whole {
		for bit := range 8 {
			flipped := slices.Clone(whole)
			flipped[i] ^= 1 << bit
			file.set(flipped)
			requireDamaged(t, disk, file, fmt.Sprintf("bit %d of byte %d, %q", bit, i, whole[i]))
		}
	}
}

// TestEveryCutEndIsTorn: a journal that ends early has its whole records, and
// goes on after them, unless it says elsewhere that there were more.
func TestEveryCutEndIsTorn(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	whole := slices.Clone(file.current)
	for length := range whole {
		file.set(whole[:length])
		dropHead(disk, faultKey)
		lines := bytes.Count(whole[:length], []byte("\n"))
		found, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
		if lines == 0 {
			require.ErrorIs(t, err, fault.UnknownRun)
			_, err = openSim(disk).Append(context.Background(), faultKey, smallRecord(1))
			require.NoError(t, err)
			continue
		}
		require.NoError(t, err)
		require.Len(t, found, lines)
		require.Len(t, file.current, length, "reading changed the file")
		_, err = openSim(disk).Append(context.Background(), faultKey, smallRecord(lines+1))
		require.NoError(t, err)
		_, err = openSim(disk).Records(context.Background(), faultKey, 0, 0)
		require.NoError(t, err)
	}
}

func TestLinesMovedAreDamage(t *testing.T) {
	disk, file := smallRun(t, faultKey, 4)
	lines := bytes.SplitAfter(slices.Clone(file.current), []byte("\n"))[:4]
	for name, order := range map[string][]int{
		"middle missing": {0, 1, 3}, "first missing": {1, 2, 3}, "twice": {0, 1, 1, 2, 3}, "swapped": {0, 2, 1, 3},
		"last twice": {0, 1, 2, 3, 3}, "plan again": {0, 1, 2, 3, 0},
	} {
		var moved []byte
		for _, i := range order {
			moved = append(moved, lines[i]...)
		}
		file.set(moved)
		requireDamaged(t, disk, file, name)
	}
}

func TestCutMiddleIsDamage(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	whole := slices.Clone(file.current)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(whole)-2).Draw(t, "from")
		to := rapid.IntRange(from+1, len(whole)-1).Draw(t, "to")
		left := slices.Concat(whole[:from], whole[to:])
		if bytes.HasPrefix(whole, left) {
			return // from the end of a record to the last byte: only the end is missing
		}
		file.set(left)
		requireDamaged(t, disk, file, fmt.Sprintf("%d to %d", from, to))
	})
}

func TestAnotherRunsJournalIsDamage(t *testing.T) {
	disk, file := smallRun(t, faultKey, 2)
	_, other := smallRun(t, Key{"w", "other"}, 2)
	file.set(other.current)
	requireDamaged(t, disk, file, "swapped")
	_, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
	require.ErrorContains(t, err, "w/other")
}

// TestDamageWhileOpenIsSeen: a journal changed behind the back of the process
// that has it open is verified again.
func TestDamageWhileOpenIsSeen(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	d := openSim(disk)
	_, err := d.Append(context.Background(), faultKey, smallRecord(4))
	require.NoError(t, err)
	whole := slices.Clone(file.current)
	flipped := slices.Clone(whole)
	flipped[5] ^= 1
	for name, data := range map[string][]byte{
		"edited": flipped, "cut": whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1], "emptied": nil,
	} {
		file.set(data)
		_, err := d.Append(context.Background(), faultKey, smallRecord(5))
		require.ErrorIs(t, err, fault.StateCorrupt, name)
		require.Equal(t, len(data), len(file.current), name)
	}
	file.set(whole)
	_, err = d.Append(context.Background(), faultKey, smallRecord(5))
	require.NoError(t, err, "the run is repaired and goes on")
}

func TestANewerFormatIsRefusedAndKept(t *testing.T) {
	for _, start := range []string{`{"format":2,"anything":[]}` + "\n", `{"format":2`, `{"format":12,"x":` + strings.Repeat("1", 5000)} {
		disk, file := smallRun(t, faultKey, 1)
		file.set([]byte(start))
		requireDamaged(t, disk, file, start)
		_, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
		require.ErrorIs(t, err, ErrNewerFormat)
		infos, err := openSim(disk).List(context.Background(), Filter{})
		require.NoError(t, err)
		require.Equal(t, StatusDamaged, infos[0].Status)
	}
}

// FuzzScan: whatever a file holds, reading it ends, and what it accepts is a
// chain that appending leaves readable.
func FuzzScan(f *testing.F) {
	_, file := smallRun(f, faultKey, 3)
	f.Add(slices.Clone(file.current))
	f.Add(file.current[:len(file.current)-1])
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"format":1,`))
	f.Fuzz(func(t *testing.T, data []byte) {
		disk, file := smallRun(t, faultKey, 1)
		file.set(data)
		found, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
		if err != nil {
			require.True(t, isCorrupt(err) || fault.From(err).Code == fault.UnknownRun, err)
			return
		}
		made, err := openSim(disk).Append(context.Background(), faultKey, smallRecord(len(found)+1))
		require.NoError(t, err)
		again, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
		require.NoError(t, err)
		require.Equal(t, append(found, made), again)
	})
}

// TestShortenedJournalIsDamage: a journal cut within or between records is
// whole by itself, but its readable file knows of the records that are gone.
// One whose version was only edited does not.
func TestShortenedJournalIsDamage(t *testing.T) {
	disk, file := smallRun(t, faultKey, 3)
	require.NoError(t, project(3, true)(openSim(disk)))
	whole := slices.Clone(file.current)
	for length := 1; length < len(whole); length++ {
		file.set(whole[:length])
		requireDamaged(t, disk, file, fmt.Sprintf("cut after %d bytes", length))
	}
	file.set(whole)
	readable := disk.fileAt(snapshotName(faultKey))
	readable.set(bytes.Replace(readable.current, []byte(`"version": 3`), []byte(`"version": 9`), 1))
	_, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
	require.ErrorIs(t, err, fault.StateCorrupt, "a state that says no version of its own is believed")
	readable.set(bytes.Replace(readable.current, []byte(`"at": 3`), []byte(`"at": 4`), 1))
	found, err := openSim(disk).Records(context.Background(), faultKey, 0, 0)
	require.NoError(t, err)
	require.Len(t, found, 3)
}
