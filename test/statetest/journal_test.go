package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

func testJournal(t *testing.T, store state.Storage) {
	ctx := context.Background()
	const count = 150
	records := begin(t, store, sample, count)
	_, last, err := state.Lines(sample, records)
	require.NoError(t, err)
	require.Equal(t, count, last.Version)
	for _, after := range []int{-1, 0, 1, 63, 64, 65, 128, count - 1, count, count + 1} {
		found, err := store.Records(ctx, sample, after, 0)
		require.NoError(t, err)
		require.NotNil(t, found)
		rest := records[min(max(after, 0), count):]
		require.Equal(t, rest, found, "after %d", after)
		for _, limit := range []int{1, 2, 70, count} {
			found, err := store.Records(ctx, sample, after, limit)
			require.NoError(t, err)
			require.Equal(t, rest[:min(limit, len(rest))], found, "after %d, at most %d", after, limit)
		}
	}
	version, hash, err := store.Head(ctx, sample)
	require.NoError(t, err)
	require.Equal(t, count, version)
	require.Equal(t, records[count-1].Hash, hash)
}

func testJournalRefuses(t *testing.T, store state.Storage) {
	ctx := context.Background()
	_, err := store.Append(ctx, sample, record(2))
	requireCode(t, fault.UnknownRun, err)
	begin(t, store, sample, 3)
	_, err = store.Append(ctx, sample, record(1))
	requireCode(t, fault.StateConflict, err)
	for _, version := range []int{-1, 0, 1, 3, 5} {
		_, err := store.Append(ctx, sample, record(version))
		requireCode(t, fault.StateConflict, err)
	}
	_, err = store.Append(ctx, sample, record(3))
	require.ErrorContains(t, err, "expected version v2, found v3")
	for name, change := range map[string]func(*state.Record){
		"kind":   func(r *state.Record) { r.Kind = "Not a word" },
		"status": func(r *state.Record) { r.Status = strings.Repeat("x", 65) },
		"time":   func(r *state.Record) { r.Time = "yesterday" },
		"state":  func(r *state.Record) { r.State = "line\nbreak" },
		"data":   func(r *state.Record) { r.Data = json.RawMessage(`{"half":`) },
		"two":    func(r *state.Record) { r.Data = json.RawMessage(`{} {}`) },
	} {
		next := record(4)
		change(&next)
		_, err := store.Append(ctx, sample, next)
		require.ErrorIs(t, err, fault.InvalidParams, name)
	}
	version, _, err := store.Head(ctx, sample)
	require.NoError(t, err)
	require.Equal(t, 3, version, "what was refused left a trace")
}

// testData: the bytes of a record's data are the caller's, but for white space
// between tokens and what the store sets itself.
func testData(t *testing.T, store state.Storage) {
	ctx := context.Background()
	begin(t, store, sample, 1)
	for i, data := range []string{`null`, `0`, `"<&> \u2028 ü"`, `[9007199254740993,1.10,1e5]`,
		`{"b":1,"a":{"hash":"x","prev":"y","version":9}}`, `""`, `"` + strings.Repeat("long ", 100_000) + `"`} {
		next := record(i + 2)
		next.Data = json.RawMessage("  " + data + "\n\t")
		next.Prev, next.Hash, next.Format, next.Workflow = "not", "mine", 7, "other"
		made, err := store.Append(ctx, sample, next)
		require.NoError(t, err)
		require.Equal(t, data, string(made.Data))
		found, err := store.Records(ctx, sample, i+1, 0)
		require.NoError(t, err)
		require.Equal(t, []state.Record{made}, found)
	}
	empty := record(9)
	empty.Data, empty.Time, empty.State, empty.Status = nil, "2026-01-02T03:04:05+01:00", "", ""
	made, err := store.Append(ctx, sample, empty)
	require.NoError(t, err)
	require.Equal(t, "null", string(made.Data))
	require.Equal(t, empty.Time, made.Time)
}

func testNames(t *testing.T, store state.Storage) {
	ctx := context.Background()
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "-a", ".a", "a b", "a\x00", "ä",
		"a.json", "a.journal", strings.Repeat("a", 129)} {
		_, err := store.Append(ctx, state.Key{Workflow: "w", Run: name}, record(1))
		require.ErrorIs(t, err, fault.InvalidParams, "%q", name)
		_, err = store.Append(ctx, state.Key{Workflow: name, Run: "r"}, record(1))
		require.ErrorIs(t, err, fault.InvalidParams, "%q", name)
		_, err = store.Append(ctx, state.Key{Workflow: "w", Run: name}, record(2))
		require.ErrorIs(t, err, fault.InvalidParams, "%q", name)
	}
	longest := strings.Repeat("n", 128)
	for _, key := range []state.Key{{Workflow: longest, Run: longest}, {Workflow: "a", Run: "a.checkpoints"},
		{Workflow: "a", Run: "a"}, {Workflow: "a-b", Run: "c"}, {Workflow: "a", Run: "b-c"}} {
		begin(t, store, key, 2)
		require.NoError(t, store.Delete(ctx, key))
	}
	infos, err := store.List(ctx, state.Filter{})
	require.NoError(t, err)
	require.Empty(t, infos)
}

func testUnknownRun(t *testing.T, store state.Storage) {
	ctx := context.Background()
	begin(t, store, state.Key{Workflow: "w", Run: "other"}, 1)
	key := state.Key{Workflow: "w", Run: "r"}
	_, err := store.Append(ctx, key, record(2))
	requireCode(t, fault.UnknownRun, err)
	_, err = store.Records(ctx, key, 0, 0)
	requireCode(t, fault.UnknownRun, err)
	_, _, err = store.Head(ctx, key)
	requireCode(t, fault.UnknownRun, err)
	_, err = store.Load(ctx, key, "")
	requireCode(t, fault.UnknownRun, err)
	requireCode(t, fault.UnknownRun, store.Save(ctx, key, "", snapshotOf(record(1))))
	requireCode(t, fault.UnknownRun, store.Save(ctx, key, "c", snapshotOf(record(1))))
	_, err = store.Checkpoints(ctx, key)
	requireCode(t, fault.UnknownRun, err)
	_, err = store.Load(ctx, key, "c")
	requireCode(t, fault.UnknownRun, err)
	requireCode(t, fault.UnknownRun, store.Delete(ctx, key))
}

// testContention: of those who append one version, one succeeds.
func testContention(t *testing.T, store state.Storage) {
	const writers, count = 8, 100
	begin(t, store, sample, 1)
	var accepted atomic.Int64
	var group sync.WaitGroup
	for range writers {
		group.Go(func() { accepted.Add(int64(appendUpTo(t, store, sample, count))) })
	}
	group.Wait()
	require.EqualValues(t, count-1, accepted.Load())
	records, err := store.Records(context.Background(), sample, 0, 0)
	require.NoError(t, err)
	require.Len(t, records, count)
}

// appendUpTo appends as one of several until the run has a number of records,
// and returns how many were accepted.
func appendUpTo(t testing.TB, store state.Storage, key state.Key, count int) (accepted int) {
	ctx := context.Background()
	for {
		version, _, err := store.Head(ctx, key)
		if err != nil {
			t.Error(err)
			return accepted
		}
		if version >= count {
			return accepted
		}
		_, err = store.Append(ctx, key, record(version+1))
		if err == nil {
			accepted++
		} else if !errors.Is(err, fault.StateConflict) {
			t.Error(err)
			return accepted
		}
	}
}

func testManyRuns(t *testing.T, store state.Storage) {
	var group sync.WaitGroup
	for i := range 40 {
		key := state.Key{Workflow: "w", Run: string(rune('a'+i%26)) + string(rune('a'+i/26))}
		group.Go(func() {
			if _, err := store.Append(context.Background(), key, record(1)); err != nil {
				t.Error(err)
			}
			if got := appendUpTo(t, store, key, 10); got != 9 {
				t.Errorf("run %s: %d records accepted, not 9", key, got)
			}
		})
	}
	group.Wait()
	infos, err := store.List(context.Background(), state.Filter{Workflow: "w"})
	require.NoError(t, err)
	require.Len(t, infos, 40)
	for _, info := range infos {
		require.Equal(t, 10, info.Version)
	}
}
