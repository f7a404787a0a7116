package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// TestLargeFilesOfAFolderAreNotRead: a clone brings files of gigabytes, which git packs to a
// few megabytes, in the place of each file of a run. They are damage, like others of the kind.
func TestLargeFilesOfAFolderAreNotRead(t *testing.T) {
	folder := t.TempDir()
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Append(t.Context(), faultKey, smallRecord(1))
	require.NoError(t, err)
	journal, err := os.ReadFile(filepath.Join(folder, journalName(faultKey)))
	require.NoError(t, err)
	digest, err := d.PutArtifact(t.Context(), []byte("value"))
	require.NoError(t, err)

	grow := func(name string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(`{"format":1`), 0o600))
		require.NoError(t, os.Truncate(filepath.Join(folder, name), 3<<30))
	}
	for _, name := range []string{snapshotName(faultKey), latestName(faultKey.Workflow), artifactName(digest), journalName(Key{"w", "large"}),
		receiptFolder + "/aaaaaaaa.json", latestCallName("git.status", "input"), importName(faultKey), checkpointName(faultKey, "named")} {
		grow(name)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	problems, err := d.Check(t.Context(), faultKey)
	require.NoError(t, err)
	require.Len(t, problems, 3, "its projections and its checkpoint")
	require.Contains(t, problems[0].Message, "larger than any file")
	_, err = d.Artifact(t.Context(), digest)
	require.ErrorIs(t, err, fault.StateCorrupt)
	_, err = d.Receipt(t.Context(), "aaaaaaaa")
	require.ErrorIs(t, err, fault.StateCorrupt)
	latest, err := d.LatestCall(t.Context(), "git.status", "input")
	require.NoError(t, err, "a call whose note is not ours is not known to be the latest")
	require.Zero(t, latest)
	_, err = d.Records(t.Context(), Key{"w", "large"}, 0, 0)
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, "is longer than 64 MB")
	infos, err := d.List(t.Context(), Filter{})
	require.NoError(t, err)
	require.Len(t, infos, 2)
	again, err := d.PutArtifact(t.Context(), []byte("value"))
	require.NoError(t, err, "it is put anew")
	require.Equal(t, digest, again)

	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<30), "the gigabytes were not read")

	_, err = d.Append(t.Context(), faultKey, smallRecord(2))
	require.NoError(t, err, "the twin: the run goes on")
	text, err := os.ReadFile(filepath.Join(folder, journalName(faultKey)))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), string(journal)))
}

// TestDigestsAreFoundAcrossBlocks: what a large file names is kept, wherever it stands.
func TestDigestsAreFoundAcrossBlocks(t *testing.T) {
	folder := t.TempDir()
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Append(t.Context(), faultKey, smallRecord(1))
	require.NoError(t, err)
	digest, err := d.PutArtifact(t.Context(), []byte("value"))
	require.NoError(t, err)
	for _, before := range []int{0, markBlock - 64, markBlock - 63, markBlock - 1, 2*markBlock - 100} {
		text := strings.Repeat(" ", before) + digest
		require.NoError(t, os.WriteFile(filepath.Join(folder, checkpointFolder(faultKey)), []byte(text), 0o600))
		found, err := d.GCArtifacts(t.Context(), -time.Hour, true)
		require.NoError(t, err)
		require.Zero(t, found.Artifacts, before)
	}
	require.NoError(t, os.Remove(filepath.Join(folder, checkpointFolder(faultKey))))
	found, err := d.GCArtifacts(t.Context(), -time.Hour, true)
	require.NoError(t, err)
	require.Equal(t, 1, found.Artifacts, "the twin")
}

// TestAFolderInThePlaceOfTheLatestCall is set aside: the call has its receipt.
func TestAFolderInThePlaceOfTheLatestCall(t *testing.T) {
	folder := t.TempDir()
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	defer d.Close()
	given := Receipt{ID: "aaaaaaaa", Tool: "git.status", Input: "input", Output: "output", Time: time.Now().UTC()}
	require.NoError(t, os.MkdirAll(filepath.Join(folder, latestCallName(given.Tool, given.Input), "brought"), 0o700))
	require.NoError(t, d.PutReceipt(t.Context(), given))
	latest, err := d.LatestCall(t.Context(), given.Tool, given.Input)
	require.NoError(t, err)
	require.Equal(t, given.ID, latest.ID)
	kept, err := filepath.Glob(filepath.Join(folder, ".savant/trash/*-damaged-receipt/latest-*/brought"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
}

// TestARepairIsBounded: how many records there were is only claimed by a record, a projection
// or a head, and a journal may be of any size.
func TestARepairIsBounded(t *testing.T) {
	folder := t.TempDir()
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Append(t.Context(), faultKey, smallRecord(1))
	require.NoError(t, err)
	name := filepath.Join(folder, journalName(faultKey))
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	body, _, _ := split([]byte(strings.TrimSuffix(strings.Replace(string(whole), `"version":1,`, `"version":1000000,`, 1), "\n")))
	forged := string(body) + hashField + digestOf(body, "}") + lineEnd + "\n"
	require.True(t, isWhole([]byte(strings.TrimSuffix(forged, "\n"))))
	require.NoError(t, os.WriteFile(name, append(whole, forged...), 0o600))

	repaired, err := d.Repair(t.Context(), faultKey, 0)
	require.NoError(t, err)
	require.Equal(t, 1, repaired.Version)
	require.Len(t, repaired.Lost, maxLost)
	require.Equal(t, 1_000_000-1-maxLost, repaired.Unlisted)

	require.NoError(t, os.WriteFile(name, []byte(string(whole)+strings.Repeat("damage\n", 1<<20)), 0o600))
	widest := &widestRead{disk: d.disk}
	d.disk = widest
	repaired, err = d.Repair(t.Context(), faultKey, 0)
	require.NoError(t, err)
	require.Equal(t, 1, repaired.Version)
	require.Less(t, widest.bytes, 1<<20, "the journal is not read whole")
	kept, err := os.Stat(filepath.Join(folder, repaired.Kept, keptJournal))
	require.NoError(t, err)
	require.Equal(t, int64(len(whole)+7<<20), kept.Size())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(whole), string(text))
}

// widestRead notes the longest read of its files.
type widestRead struct {
	disk
	bytes int
}

func (w *widestRead) Open(name string, flags int) (file, error) {
	opened, err := w.disk.Open(name, flags)
	return widestFile{opened, w}, err
}

type widestFile struct {
	file
	of *widestRead
}

func (w widestFile) ReadAt(p []byte, at int64) (int, error) {
	w.of.bytes = max(w.of.bytes, len(p))
	return w.file.ReadAt(p, at)
}
