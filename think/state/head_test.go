package state

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// cutRun returns a folder with a run of three records whose last is cut off, together with
// all projections.
func cutRun(t *testing.T) (folder string, whole []byte) {
	folder = t.TempDir()
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	for version := 1; version <= 3; version++ {
		_, err = d.Append(t.Context(), faultKey, smallRecord(version))
		require.NoError(t, err)
	}
	require.NoError(t, d.Close())
	name := filepath.Join(folder, journalName(faultKey))
	whole, err = os.ReadFile(name)
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	require.NoError(t, os.WriteFile(name, bytes.Join(lines[:2], nil), 0o600))
	return folder, whole
}

func read(t *testing.T, folder string) ([]Record, error) {
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	return d.Records(t.Context(), faultKey, 0, 0)
}

// TestACutJournalIsFound: a journal without its last record, and without any projection
// that knows of it, is not taken for a shorter one. A repair accepts what is left.
func TestACutJournalIsFound(t *testing.T) {
	folder, whole := cutRun(t)
	_, err := read(t, folder)
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, "ends after record 2, but .savant/heads/w/r stands for record 3")

	require.NoError(t, os.WriteFile(filepath.Join(folder, journalName(faultKey)), whole, 0o600))
	records, err := read(t, folder)
	require.NoError(t, err, "the whole journal")
	require.Len(t, records, 3)
}

// TestTheEndOfALongJournalIsKnown: the version in a second place has leading zeros, which
// are not those of an octal number.
func TestTheEndOfALongJournalIsKnown(t *testing.T) {
	d, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	for version := 1; version <= 110; version++ {
		_, err = d.Append(t.Context(), faultKey, smallRecord(version))
		require.NoError(t, err)
		found, known := readHeadOf(d.disk, faultKey)
		require.True(t, known, version)
		require.Equal(t, version, found.last.Version)
		require.True(t, found.here)
	}
}

func TestACutJournalIsRepaired(t *testing.T) {
	folder, _ := cutRun(t)
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	repaired, err := d.Repair(t.Context(), faultKey, 0)
	require.NoError(t, err)
	require.Equal(t, 2, repaired.Version)
	require.Len(t, repaired.Lost, 1)
	_, err = d.Append(t.Context(), faultKey, smallRecord(3))
	require.NoError(t, err)
	require.NoError(t, d.Close())
	records, err := read(t, folder)
	require.NoError(t, err)
	require.Len(t, records, 3)
}

// TestALastRecordThatIsReplacedIsFound: a chain that was made anew from some record on has
// other hashes.
func TestALastRecordThatIsReplacedIsFound(t *testing.T) {
	folder, _ := cutRun(t)
	name := filepath.Join(folder, journalName(faultKey))
	cut, err := os.ReadFile(name)
	require.NoError(t, err)
	lines := bytes.SplitAfter(cut, []byte("\n"))
	last, err := recordOf(bytes.TrimSuffix(lines[1], []byte("\n")))
	require.NoError(t, err)
	other := smallRecord(3)
	other.Status = "done"
	_, line, err := Seal(faultKey, Link{2, last.Hash}, other, fixedNow())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, append(append(cut, line...), '\n'), 0o600))
	_, err = read(t, folder)
	require.ErrorIs(t, err, fault.StateCorrupt)
	require.ErrorContains(t, err, "record 3 is not the one that .savant/heads/w/r stands for")
}

// TestASecondPlaceThatSaysNothing: a run of before there was one, one that was half
// overwritten, and that of an earlier run of the name leave a run as it is.
func TestASecondPlaceThatSaysNothing(t *testing.T) {
	folder, whole := cutRun(t)
	second := filepath.Join(folder, headName(faultKey))
	said, err := os.ReadFile(second)
	require.NoError(t, err)
	for name, text := range map[string][]byte{"none": nil, "half": said[:70], "mixed": append([]byte("0000000009"), said[10:]...)} {
		require.NoError(t, os.WriteFile(second, text, 0o600))
		records, err := read(t, folder)
		require.NoError(t, err, name)
		require.Len(t, records, 2, name)
	}
	require.NoError(t, os.Remove(second))
	records, err := read(t, folder)
	require.NoError(t, err)
	require.Len(t, records, 2)

	require.NoError(t, os.WriteFile(filepath.Join(folder, journalName(faultKey)), whole, 0o600))
	d, err := Open(folder, Options{})
	require.NoError(t, err)
	require.NoError(t, d.Delete(t.Context(), faultKey))
	require.NoFileExists(t, second)
	require.NoError(t, os.WriteFile(second, said, 0o600)) // the process was killed before it removed it
	_, err = d.Append(t.Context(), faultKey, Record{Version: 1, Kind: "plan", State: "other", Data: []byte(`{}`)})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	records, err = read(t, folder)
	require.NoError(t, err)
	require.Len(t, records, 1)
}
