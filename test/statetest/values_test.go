package statetest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

func testSnapshot(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 70)
	none, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.Zero(t, none)
	for _, at := range []int{0, 5, 69} {
		snapshot := snapshotOf(records[at])
		snapshot.Lazy = at%2 == 1
		require.NoError(t, store.Save(ctx, sample, "", snapshot))
		found, err := store.Load(ctx, sample, "")
		require.NoError(t, err)
		require.NotEmpty(t, found.Time)
		require.Equal(t, jsonvalue.HexSum(snapshot.State), found.Digest)
		snapshot.Format, snapshot.Workflow, snapshot.Run = state.Format, sample.Workflow, sample.Run
		snapshot.Time, snapshot.Digest, snapshot.Lazy = found.Time, found.Digest, false
		require.Equal(t, snapshot, found)
	}
}

func testSnapshotOrder(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 3)
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(records[2])))
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(records[0])))
	found, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.Equal(t, 3, found.Version, "a late projection replaced a newer one")
}

func testSnapshotRefuses(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 3)
	for name, change := range map[string]func(*state.Snapshot){
		"ahead":       func(s *state.Snapshot) { s.Version = 4 },
		"zero":        func(s *state.Snapshot) { s.Version, s.Record = 0, "" },
		"other hash":  func(s *state.Snapshot) { s.Record = records[0].Hash },
		"no hash":     func(s *state.Snapshot) { s.Record = "" },
		"behind hash": func(s *state.Snapshot) { s.Version = 1 },
	} {
		snapshot := snapshotOf(records[2])
		change(&snapshot)
		require.ErrorIs(t, store.Save(ctx, sample, "", snapshot), fault.StateConflict, name)
		require.ErrorIs(t, store.Save(ctx, sample, "c", snapshot), fault.StateConflict, name)
	}
	broken := snapshotOf(records[2])
	broken.State = json.RawMessage(`{`)
	requireCode(t, fault.InvalidParams, store.Save(ctx, sample, "", broken))
	requireCode(t, fault.InvalidParams, store.Save(ctx, sample, "c", broken))
}

func testCheckpoints(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 4)
	found, err := store.Checkpoints(ctx, sample)
	require.NoError(t, err)
	require.Empty(t, found)
	for name, at := range map[string]int{"before-merge": 1, "a": 3, "b": 1} {
		require.NoError(t, store.Save(ctx, sample, name, snapshotOf(records[at])))
	}
	require.NoError(t, store.Save(ctx, sample, "b", snapshotOf(records[0])), "a name may be used again")
	found, err = store.Checkpoints(ctx, sample)
	require.NoError(t, err)
	require.Len(t, found, 3)
	for i, name := range []string{"b", "before-merge", "a"} {
		require.Equal(t, name, found[i].Name)
		require.NotEmpty(t, found[i].Time)
		restored, err := store.Load(ctx, sample, name)
		require.NoError(t, err)
		require.Equal(t, found[i].Version, restored.Version)
		require.Equal(t, found[i].Hash, restored.Hash)
		require.Equal(t, string(snapshotOf(records[restored.Version-1]).State), string(restored.State))
	}
	_, err = store.Load(ctx, sample, "none")
	requireCode(t, fault.CheckpointNotFound, err)
	_, err = store.Load(ctx, sample, "../../x")
	requireCode(t, fault.InvalidParams, err)
	requireCode(t, fault.InvalidParams, store.Save(ctx, sample, "x/y", snapshotOf(records[0])))
}

func testList(t *testing.T, store state.Storage) {
	ctx := context.Background()
	infos, err := store.List(ctx, state.Filter{})
	require.NoError(t, err)
	require.NotNil(t, infos)
	require.Empty(t, infos)
	times := map[string]string{"w1/old": "2026-01-01T00:00:00Z", "w1/new": "2026-01-01T00:00:02Z", "w2/mid": "2026-01-01T00:00:01.5Z"}
	for _, key := range []state.Key{{Workflow: "w1", Run: "new"}, {Workflow: "w1", Run: "old"}, {Workflow: "w2", Run: "mid"}} {
		first := record(1)
		first.Time = "2025-12-31T00:00:00Z"
		_, err := store.Append(ctx, key, first)
		require.NoError(t, err)
		next := record(2)
		next.Time, next.Status = times[key.String()], "done"
		next.Data = json.RawMessage(`{"time":"no","big":"` + strings.Repeat("9", 9000) + `"}`)
		_, err = store.Append(ctx, key, next)
		require.NoError(t, err)
	}
	infos, err = store.List(ctx, state.Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{"w1/new", "w2/mid", "w1/old"}, keysOf(infos))
	require.Equal(t, state.Info{Workflow: "w1", Run: "new", Status: "done", Version: 2,
		Created: "2025-12-31T00:00:00Z", Updated: "2026-01-01T00:00:02Z"}, infos[0])
	infos, err = store.List(ctx, state.Filter{Workflow: "w2"})
	require.NoError(t, err)
	require.Equal(t, []string{"w2/mid"}, keysOf(infos))
	infos, err = store.List(ctx, state.Filter{Workflow: "w3"})
	require.NoError(t, err)
	require.Empty(t, infos)
	_, err = store.List(ctx, state.Filter{Workflow: "../w1"})
	requireCode(t, fault.InvalidParams, err)
}

func keysOf(infos []state.Info) []string {
	keys := make([]string, 0, len(infos))
	for _, info := range infos {
		keys = append(keys, info.Key().String())
	}
	return keys
}

// undelete brings back a run, if the store can.
func undelete(t *testing.T, store state.Storage, key state.Key) error {
	trash, ok := store.(interface {
		Undelete(ctx context.Context, key state.Key) error
	})
	if !ok {
		t.Skip("the store has no trash")
	}
	return trash.Undelete(context.Background(), key)
}

func testTrash(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 3)
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(records[2])))
	require.NoError(t, store.Save(ctx, sample, "c", snapshotOf(records[1])))
	before, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.NoError(t, store.Delete(ctx, sample))
	_, _, err = store.Head(ctx, sample)
	requireCode(t, fault.UnknownRun, err)
	infos, err := store.List(ctx, state.Filter{})
	require.NoError(t, err)
	require.Empty(t, infos)

	require.NoError(t, undelete(t, store, sample))
	found, err := store.Records(ctx, sample, 0, 0)
	require.NoError(t, err)
	require.Equal(t, records, found)
	after, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = store.Load(ctx, sample, "c")
	require.NoError(t, err)
	_, err = store.Append(ctx, sample, record(4))
	require.NoError(t, err, "a run that is back goes on")
	requireCode(t, fault.UnknownRun, undelete(t, store, sample))
}

// testBeginAgain: a run created under the name of a deleted one has nothing of
// it, and the deleted one waits.
func testBeginAgain(t *testing.T, store state.Storage) {
	ctx := context.Background()
	records := begin(t, store, sample, 5)
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(records[4])))
	require.NoError(t, store.Save(ctx, sample, "c", snapshotOf(records[1])))
	require.NoError(t, store.Delete(ctx, sample))
	again := begin(t, store, sample, 2)
	none, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.Zero(t, none)
	_, err = store.Load(ctx, sample, "c")
	requireCode(t, fault.CheckpointNotFound, err)
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(again[1])))
	found, err := store.Load(ctx, sample, "")
	require.NoError(t, err)
	require.Equal(t, again[1].Hash, found.Record)

	requireCode(t, fault.StateConflict, undelete(t, store, sample))
	require.NoError(t, store.Delete(ctx, sample))
	require.NoError(t, undelete(t, store, sample))
	version, _, err := store.Head(ctx, sample)
	require.NoError(t, err)
	require.Equal(t, 2, version, "the one deleted last comes back first")
}

func testArtifacts(t *testing.T, store state.Storage) {
	ctx := context.Background()
	for _, data := range [][]byte{{}, []byte("value"), []byte("value"), make([]byte, 300_000)} {
		name, err := store.PutArtifact(ctx, data)
		require.NoError(t, err)
		require.Equal(t, jsonvalue.HexSum(data), name)
		found, err := store.Artifact(ctx, name)
		require.NoError(t, err)
		require.Equal(t, data, found)
	}
	_, err := store.Artifact(ctx, jsonvalue.HexSum([]byte("never put")))
	requireCode(t, fault.StateCorrupt, err)
	for _, name := range []string{"", "../../x", "abc"} {
		_, err := store.Artifact(ctx, name)
		requireCode(t, fault.InvalidParams, err)
	}
}
