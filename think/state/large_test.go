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
		receiptFolder + "/aaaaaaaa.json", importName(faultKey), checkpointName(faultKey, "named")} {
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
