package state

import (
	"bytes"
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// The files of testdata/old_log were written by Savant 67353ff, which was ended
// with the records 2 to 4 of the runs w/a and w/b in its common log.

var oldKeys = []Key{{"w", "a"}, {"w", "b"}}

func oldFile(t *testing.T, name string) []byte {
	data, err := os.ReadFile(path.Join("testdata", "old_log", name))
	require.NoError(t, err)
	return data
}

// oldDisk is a disk as a crash of the machine left it: with so many bytes of
// each journal, and the logs by name.
func oldDisk(t *testing.T, bytesKept int, logs map[string][]byte) *simDisk {
	disk := newSimDisk()
	d := newDir(disk, Options{Now: fixedNow})
	require.NoError(t, d.ensureFolder(runsFolder("w")))
	require.NoError(t, d.ensureFolder(oldLogFolder))
	for _, key := range oldKeys {
		journal := oldFile(t, key.Run+journalSuffix)
		require.NoError(t, d.replace(journalName(key), journal[:min(bytesKept, len(journal))], true))
	}
	for name, data := range logs {
		require.NoError(t, d.replace(path.Join(oldLogFolder, name), data, true))
	}
	return disk
}

func requireFour(t *testing.T, disk *simDisk, where any) {
	d := newDir(disk, Options{Now: fixedNow})
	for _, key := range oldKeys {
		records, err := d.Records(t.Context(), key, 0, 0)
		require.NoError(t, err, where)
		require.Len(t, records, 4, where)
		require.Equal(t, oldFile(t, key.Run+journalSuffix), disk.fileAt(journalName(key)).durable, where)
	}
}

func logsOn(t *testing.T, disk *simDisk) []string {
	names, err := namesIn(disk, oldLogFolder)
	require.NoError(t, err)
	return withSuffix(names, oldLogSuffix)
}

// TestAnOldLogIsImported: whatever the crash left of the journals behind their
// first record, and however the records are spread over logs.
func TestAnOldLogIsImported(t *testing.T) {
	log := oldFile(t, "common.log")
	lines := bytes.SplitAfter(log, []byte("\n"))
	first := bytes.IndexByte(oldFile(t, "a.journal"), '\n') + 1
	for kept := first; kept < len(oldFile(t, "a.journal"))+1; kept += 7 {
		for name, logs := range map[string]map[string][]byte{
			"one":  {"x.log": log},
			"torn": {"x.log": append(bytes.Clone(log), lines[0][:40]...)},
			"two":  {"x.log": bytes.Join(lines[4:], nil), "y.log": bytes.Join(lines[:4], nil)},
		} {
			disk := oldDisk(t, kept, logs)
			require.NoError(t, newDir(disk, Options{}).importOldLogs())
			requireFour(t, disk, name)
			require.Empty(t, logsOn(t, disk))
		}
	}
}

// TestAFaultWhileImporting: at every call of the disk. The next opening imports.
func TestAFaultWhileImporting(t *testing.T) {
	for _, kind := range []simFault{failEIO, failShort, failCrash} {
		for n := 1; ; n++ {
			disk := oldDisk(t, 500, map[string][]byte{"x.log": oldFile(t, "common.log")})
			disk.calls, disk.failAt, disk.fault = 0, n, kind
			err := newDir(disk, Options{}).importOldLogs()
			done := disk.calls < n
			disk.failAt, disk.dead = -1, false
			disk.kill()
			require.NoError(t, newDir(disk, Options{}).importOldLogs())
			requireFour(t, disk, n)
			if done {
				require.NoError(t, err)
				break
			}
		}
	}
}

// TestALogStays while it is locked, and while a journal is damaged before the
// records that it has of it. A log of runs that were deleted goes.
func TestALogStays(t *testing.T) {
	disk := oldDisk(t, 1<<20, map[string][]byte{"x.log": oldFile(t, "common.log")})
	running, err := disk.Open(path.Join(oldLogFolder, "x.log"), os.O_RDWR)
	require.NoError(t, err)
	_, err = running.TryLock(true)
	require.NoError(t, err)
	require.NoError(t, newDir(disk, Options{}).importOldLogs())
	require.Len(t, logsOn(t, disk), 1)
	require.NoError(t, running.Close())

	damaged := disk.fileAt(journalName(oldKeys[0]))
	whole := bytes.Clone(damaged.current)
	damaged.set(bytes.Replace(whole, []byte(`"step":1`), []byte(`"step":7`), 1))
	d := newDir(disk, Options{})
	require.NoError(t, d.importOldLogs())
	_, err = d.Records(t.Context(), oldKeys[0], 0, 0)
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.Len(t, logsOn(t, disk), 1)
	damaged.set(whole)
	for _, key := range oldKeys {
		require.NoError(t, d.Delete(t.Context(), key))
	}
	require.NoError(t, newDir(disk, Options{}).importOldLogs())
	require.Empty(t, logsOn(t, disk))
	_, err = d.Records(t.Context(), oldKeys[0], 0, 0)
	require.ErrorIs(t, err, fault.UnknownRun)
}

// TestARunThatTookAnotherCourse keeps its records.
func TestARunThatTookAnotherCourse(t *testing.T) {
	disk := oldDisk(t, 1<<20, map[string][]byte{"x.log": oldFile(t, "common.log")})
	d := newDir(disk, Options{Now: fixedNow})
	require.NoError(t, d.Delete(t.Context(), oldKeys[0]))
	_, err := d.Append(t.Context(), oldKeys[0], smallRecord(1))
	require.NoError(t, err)
	require.NoError(t, newDir(disk, Options{}).importOldLogs())
	records, err := d.Records(t.Context(), oldKeys[0], 0, 0)
	require.NoError(t, err)
	require.Len(t, records, 1)
}
