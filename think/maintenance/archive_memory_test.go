package maintenance

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

// allocatedBy returns how many bytes a call allocates in all, so an upper bound of what
// it holds at once.
func allocatedBy(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// sealed returns a journal whose chain holds, of records with the data that is asked for.
func sealed(t testing.TB, count int, data func(version int) []byte) ([]byte, state.Link) {
	var journal []byte
	key, last := state.Key{Workflow: "w", Run: "r"}, state.Link{}
	for version := 1; version <= count; version++ {
		kind := "result"
		if version == 1 {
			kind = "plan"
		}
		made, line, err := state.Seal(key, last, state.Record{Version: version, Kind: kind, Data: data(version)}, time.Unix(0, 0))
		require.NoError(t, err)
		last = state.Link{Version: version, Hash: made.Hash}
		journal = append(append(journal, line...), '\n')
	}
	return journal, last
}

// TestImportIsBoundedWhateverAFileSays plays archives of a few KB that claim to be large:
// the first line, file or list that is wrong or too long ends the import.
func TestImportIsBoundedWhateverAFileSays(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	good := exported(t)
	withJournal := func(journal []byte, version int, hash string) func([]packed) []packed {
		return func(all []packed) []packed {
			all[1].data = journal
			return restated(t, all, func(m *manifest) { m.Version, m.Hash = version, hash })
		}
	}
	swollen, swollenEnd := sealed(t, 1, func(int) []byte { return []byte("[[]" + strings.Repeat(",[]", 1<<20) + "]") })
	long, longEnd := sealed(t, 3, func(int) []byte { return []byte(`"` + strings.Repeat("x", 7<<20) + `"`) })
	chained, chainedEnd := sealed(t, 10_000, func(int) []byte { return []byte(`{}`) })
	for name, c := range map[string]struct {
		code fault.Code
		says string
		make func(all []packed) []packed
	}{
		"20 million lines":   {fault.StateCorrupt, "journal, line 1:", withJournal(bytes.Repeat([]byte("{}\n"), 20_000_000), 20_000_000, "x")},
		"many long lines":    {fault.LimitExceeded, "with journal, line 2 the run has more bytes", withJournal(long, 3, longEnd.Hash)},
		"empty lines":        {fault.StateCorrupt, "journal, line 1", withJournal(bytes.Repeat([]byte("\n"), 20_000_000), 20_000_000, "x")},
		"one line of 100 MB": {fault.LimitExceeded, "journal, line 1 has more bytes", withJournal(bytes.Repeat([]byte("x"), 100<<20), 1, "x")},
		"a line of 20 MB":    {fault.LimitExceeded, "journal, line 1", withJournal(bytes.Repeat([]byte("x"), 20<<20), 1, "x")},
		"a million values":   {fault.LimitExceeded, "journal, line 1", withJournal(swollen, 1, swollenEnd.Hash)},
		"more than it says":  {fault.StateCorrupt, "journal, line 4", withJournal(chained, 3, chainedEnd.Hash)},
		"a chain that is none": {fault.StateCorrupt, "lacks the artifact", func(all []packed) []packed {
			return withJournal(chained, 10_000, chainedEnd.Hash)(all[:2])
		}},
		"a list without end": {fault.InvalidParams, "more than 50000 items", func(all []packed) []packed {
			all[0].data = []byte(`{"format": 1, "workflow": "w", "run": "r", "files": [{}` + strings.Repeat(",{}", 3_000_000) + `]}`)
			return all
		}},
		"a manifest of 100 MB": {fault.LimitExceeded, "savant-run.json has more bytes", func(all []packed) []packed {
			all[0].data = bytes.Repeat([]byte(" "), 100<<20)
			return all
		}},
		"an artifact of 100 MB": {fault.LimitExceeded, "has more bytes", func(all []packed) []packed {
			all[2].data = bytes.Repeat([]byte("a"), 100<<20)
			return restated(t, all, func(m *manifest) {
				m.Files[1] = manifestItem{all[2].header.Name, 100 << 20, m.Files[1].Name[len(artifactsPart):]}
			})
		}},
		"pins without end": {fault.LimitExceeded, "", func(all []packed) []packed {
			all[0].data = []byte(`{"format": 1, "workflows": {"a": {}` + strings.Repeat(`,"a": {}`, 2<<20) + `}}`)
			return all
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, keeper := exporter(t)
			file := pack(t, c.make(unpack(t, good)))
			var err error
			allocated := allocatedBy(func() { _, err = keeper.Import(t.Context(), bytes.NewReader(file)) })
			require.ErrorIs(t, err, c.code)
			require.ErrorContains(t, err, c.says)
			require.Less(t, allocated, uint64(200<<20), "in all; the most at one time is less")
			requireNothing(t, keeper)
		})
	}
}
