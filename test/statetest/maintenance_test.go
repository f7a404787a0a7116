package statetest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/state"
)

// testBackend tests a Backend like testStorage, and its receipts and upkeep.
func testBackend(t *testing.T, open func(t *testing.T) state.Backend) {
	testStorage(t, func(t *testing.T) state.Storage { return open(t) })
	for name, test := range map[string]func(*testing.T, state.Backend){
		"receipts":      testReceipts,
		"delete at":     testDeleteAt,
		"trash":         testEmptyTrash,
		"adopt":         testAdopt,
		"check":         testCheck,
		"cut":           testRepairUpTo,
		"large records": testLargeRecords,
		"collect":       testCollect,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func testReceipts(t *testing.T, store state.Backend) {
	ctx := context.Background()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	receipt := state.Receipt{ID: "abcd2345", Tool: "git.diff", Input: "in", Output: "out", Time: at, Result: json.RawMessage(`{"a.b":[[1,"<&>"]]}`)}
	_, err := store.Receipt(ctx, receipt.ID)
	requireCode(t, fault.NotWitnessed, err)
	none, err := store.LatestCall(ctx, receipt.Tool, receipt.Input)
	require.NoError(t, err)
	require.Zero(t, none)
	require.NoError(t, store.PutReceipt(ctx, receipt))
	found, err := store.Receipt(ctx, "ABCD2345")
	require.NoError(t, err)
	require.Equal(t, receipt, found)
	requireCode(t, fault.IDCollision, store.PutReceipt(ctx, receipt))

	digest, err := store.PutArtifact(ctx, []byte(`"large"`))
	require.NoError(t, err)
	later := state.Receipt{ID: "efgh2345", Tool: receipt.Tool, Input: receipt.Input, Output: "other", Time: at.Add(time.Second), Artifact: digest}
	require.NoError(t, store.PutReceipt(ctx, later))
	found, err = store.Receipt(ctx, later.ID)
	require.NoError(t, err)
	require.Equal(t, `"large"`, string(found.Result))
	latest, err := store.LatestCall(ctx, receipt.Tool, receipt.Input)
	require.NoError(t, err)
	require.Equal(t, state.LatestCall{ID: later.ID, Output: "other", Time: later.Time}, latest)

	byRun := state.Receipt{ID: "ijkl2345", Tool: receipt.Tool, Input: receipt.Input, Run: "r", Time: at}
	require.NoError(t, store.PutReceipt(ctx, byRun))
	latest, err = store.LatestCall(ctx, receipt.Tool, receipt.Input)
	require.NoError(t, err)
	require.Equal(t, later.ID, latest.ID, "a call that a run made is not a client's")
	for _, use := range []string{"r1/send", "r1/send", "r2/send"} {
		taken, err := store.UseReceipt(ctx, receipt.ID, use)
		require.NoError(t, err)
		require.Equal(t, "r1/send", taken, "a receipt is used once")
	}
	for _, id := range []string{"", "../x", "abcd234", "abcd2341"} {
		_, err := store.Receipt(ctx, id)
		requireCode(t, fault.InvalidParams, err)
		_, err = store.UseReceipt(ctx, id, "r1/send")
		requireCode(t, fault.InvalidParams, err)
		requireCode(t, fault.InvalidParams, store.PutReceipt(ctx, state.Receipt{ID: id}))
	}
}

func testDeleteAt(t *testing.T, store state.Backend) {
	ctx := context.Background()
	begin(t, store, sample, 3)
	requireCode(t, fault.StateConflict, store.DeleteAt(ctx, sample, 2))
	require.NoError(t, store.DeleteAt(ctx, sample, 3))
	requireCode(t, fault.UnknownRun, store.DeleteAt(ctx, sample, 3))
}

// testEmptyTrash: what is erased cannot be brought back, and the name can be used.
func testEmptyTrash(t *testing.T, store state.Backend) {
	ctx := context.Background()
	items, err := store.Trash(ctx)
	require.NoError(t, err)
	require.Empty(t, items)
	for range 2 {
		begin(t, store, sample, 2)
		require.NoError(t, store.Delete(ctx, sample))
	}
	begin(t, store, state.Key{Workflow: "w", Run: "lives"}, 1)
	items, err = store.Trash(ctx)
	require.NoError(t, err)
	require.Len(t, items, 2)
	for _, each := range items {
		require.Equal(t, sample, state.Key{Workflow: each.Workflow, Run: each.Run})
		require.NotEmpty(t, each.Moved)
	}
	require.NoError(t, store.GCTrash(ctx, items[0]))
	require.NoError(t, store.GCTrash(ctx, items[0]), "again")
	left, err := store.Trash(ctx)
	require.NoError(t, err)
	require.Equal(t, items[1:], left)
	require.NoError(t, store.Undelete(ctx, sample))
	require.NoError(t, store.Delete(ctx, sample))
	left, err = store.Trash(ctx)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.NoError(t, store.GCTrash(ctx, left[0]))
	requireCode(t, fault.UnknownRun, store.Undelete(ctx, sample))
	requireCode(t, fault.InvalidParams, store.GCTrash(ctx, state.Trashed{Folder: ".savant/state/w"}))
	_, err = store.FinishMoves(ctx)
	require.NoError(t, err)
	begin(t, store, sample, 3)
	keys, err := store.Keys(ctx)
	require.NoError(t, err)
	require.Equal(t, []state.Key{sample, {Workflow: "w", Run: "lives"}}, keys)
}

// testAdopt: records of another store become a run here, all of them or none.
func testAdopt(t *testing.T, store state.Backend) {
	ctx := context.Background()
	records := begin(t, NewMemory(), sample, 5)
	broken := append([]state.Record{}, records...)
	broken[3].Data = json.RawMessage(`{"step":"another"}`)
	requireCode(t, fault.StateCorrupt, store.Adopt(ctx, sample, broken))
	requireCode(t, fault.InvalidParams, store.Adopt(ctx, sample, nil))
	_, _, err := store.Head(ctx, sample)
	requireCode(t, fault.UnknownRun, err)

	require.NoError(t, store.Adopt(ctx, sample, records))
	require.NoError(t, store.Adopt(ctx, sample, records), "the very same")
	found, err := store.Records(ctx, sample, 0, 0)
	require.NoError(t, err)
	require.Equal(t, records, found)
	version, err := store.Imported(ctx, sample)
	require.NoError(t, err)
	require.Equal(t, 5, version)
	next, err := store.Append(ctx, sample, record(6))
	require.NoError(t, err)
	require.Equal(t, records[4].Hash, next.Prev)
	requireCode(t, fault.StateConflict, store.Adopt(ctx, sample, records))
	require.NoError(t, store.Delete(ctx, sample))
	version, err = store.Imported(ctx, sample)
	require.NoError(t, err)
	require.Zero(t, version)
	begin(t, store, sample, 6)
	version, err = store.Imported(ctx, sample)
	require.NoError(t, err)
	require.Zero(t, version, "another run of the name was not made elsewhere")
}

func testCheck(t *testing.T, store state.Backend) {
	ctx := context.Background()
	_, err := store.Check(ctx, sample)
	requireCode(t, fault.UnknownRun, err)
	records := begin(t, store, sample, 3)
	require.NoError(t, store.Save(ctx, sample, "c", snapshotOf(records[1])))
	require.NoError(t, store.Save(ctx, sample, "", snapshotOf(records[2])))
	problems, err := store.Check(ctx, sample)
	require.NoError(t, err)
	require.Empty(t, problems)
	repaired, err := store.Repair(ctx, sample, 0)
	require.NoError(t, err)
	require.Equal(t, 3, repaired.Version)
	require.Empty(t, repaired.Kept)
}

// testRepairUpTo: a run ends where it is cut, and goes on from there.
func testRepairUpTo(t *testing.T, store state.Backend) {
	ctx := context.Background()
	records := begin(t, store, sample, 5)
	repaired, err := store.Repair(ctx, sample, 3)
	require.NoError(t, err)
	require.Equal(t, 3, repaired.Version)
	require.NotEmpty(t, repaired.Kept)
	require.Len(t, repaired.Lost, 2)
	require.Equal(t, 4, repaired.Lost[0].Version)
	found, err := store.Records(ctx, sample, 0, 0)
	require.NoError(t, err)
	require.Equal(t, records[:3], found)
	next, err := store.Append(ctx, sample, record(4))
	require.NoError(t, err)
	require.Equal(t, records[2].Hash, next.Prev)
}

// testLargeRecords: values beyond what one document of a database holds.
func testLargeRecords(t *testing.T, store state.Backend) {
	ctx := context.Background()
	begin(t, store, sample, 1)
	large := record(2)
	large.Data = json.RawMessage(`"` + strings.Repeat("ü", 5<<20) + `"`)
	made, err := store.Append(ctx, sample, large)
	require.NoError(t, err)
	found, err := store.Records(ctx, sample, 1, 0)
	require.NoError(t, err)
	require.True(t, len(found) == 1 && found[0].Hash == made.Hash && string(found[0].Data) == string(large.Data))
	digest, err := store.PutArtifact(ctx, large.Data)
	require.NoError(t, err)
	data, err := store.Artifact(ctx, digest)
	require.NoError(t, err)
	require.True(t, string(data) == string(large.Data))
}

// testCollect: an artifact stays that a record names, or that is new.
func testCollect(t *testing.T, store state.Backend) {
	ctx := context.Background()
	begin(t, store, sample, 1)
	digest, err := store.PutArtifact(ctx, []byte("named"))
	require.NoError(t, err)
	next := record(2)
	next.Data = json.RawMessage(`{"result_ref":"` + digest + `"}`)
	_, err = store.Append(ctx, sample, next)
	require.NoError(t, err)
	unnamed, err := store.PutArtifact(ctx, []byte("not named"))
	require.NoError(t, err)
	removed, err := store.GCArtifacts(ctx, time.Hour, false)
	require.NoError(t, err)
	require.Zero(t, removed)
	for _, each := range []string{digest, unnamed} {
		_, err = store.Artifact(ctx, each)
		require.NoError(t, err)
	}
}
