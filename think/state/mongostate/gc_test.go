package mongostate_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// The documents of an erased run go when they are old, not before. Its name can be used
// again, as often as somebody likes.
func TestErasedRunsAreRemoved(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	later := time.Now()
	at := func(age time.Duration) *mongostate.Store {
		later = later.Add(age)
		store, err := mongostate.Open(database, mongostate.Options{Now: func() time.Time { return later }})
		require.NoError(t, err)
		return store
	}
	key, ctx := state.Key{Workflow: "w", Run: "r"}, t.Context()
	count := func() (documents int) {
		for _, each := range []string{"state_records", "state_projections", "state_checkpoints"} {
			require.NoError(t, database.Collection(each).Heads(ctx, " ", "~", func(mongo.Document) error {
				documents++
				return nil
			}))
		}
		return documents
	}
	store := at(0)
	other, err := store.Append(ctx, state.Key{Workflow: "w", Run: "other"}, step(1, 0, 0))
	require.NoError(t, err)
	for round := range 3 {
		for version := range 5 {
			_, err := store.Append(ctx, key, step(version+1, round, version))
			require.NoError(t, err)
		}
		records, err := store.Records(ctx, key, 4, 0)
		require.NoError(t, err)
		for _, name := range []string{"", "c"} {
			require.NoError(t, store.Save(ctx, key, name, state.Snapshot{Version: 5, Record: records[0].Hash, State: []byte("{}")}))
		}
		require.NoError(t, store.Delete(ctx, key))
		items, err := store.Trash(ctx)
		require.NoError(t, err)
		require.Len(t, items, 1)

		_, err = at(0).FinishMoves(ctx)
		require.NoError(t, err)
		require.NoError(t, store.GCTrash(ctx, items[0]))
		before := count()
		removed, err := at(0).FinishMoves(ctx)
		require.NoError(t, err)
		require.Empty(t, removed, "it is not old enough")
		require.Equal(t, before, count())

		store = at(100 * time.Hour)
		removed, err = store.FinishMoves(ctx)
		require.NoError(t, err)
		require.Equal(t, []state.Key{key}, removed)
		require.Equal(t, 2, count(), "the other run, and the last entry of this one")
		for _, each := range []*mongostate.Store{store, at(0)} { // one that saw it, and one that did not
			_, _, err = each.Head(ctx, key)
			require.ErrorIs(t, err, fault.UnknownRun)
			require.ErrorIs(t, each.Undelete(ctx, key), fault.UnknownRun)
			infos, err := each.List(ctx, state.Filter{})
			require.NoError(t, err)
			require.Len(t, infos, 1)
		}
		store = at(0)
	}
	records, err := store.Records(ctx, state.Key{Workflow: "w", Run: "other"}, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []state.Record{other}, records)
}

// Artifacts that nothing names, and receipts, go when they are old.
func TestOldArtifactsAndReceiptsAreRemoved(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	at := func(age time.Duration) *mongostate.Store {
		store, err := mongostate.Open(database, mongostate.Options{Now: func() time.Time { return time.Now().Add(age) }})
		require.NoError(t, err)
		return store
	}
	ctx := t.Context()
	named, err := at(0).PutArtifact(ctx, []byte("named"))
	require.NoError(t, err)
	unnamed, err := at(0).PutArtifact(ctx, []byte("unnamed"))
	require.NoError(t, err)
	first := step(1, 0, 0)
	first.Data = []byte(`{"ref":"` + named + `"}`)
	_, err = at(0).Append(ctx, state.Key{Workflow: "w", Run: "r"}, first)
	require.NoError(t, err)
	require.NoError(t, at(0).PutReceipt(ctx, state.Receipt{ID: "abcd2345", Tool: "t"}))

	for _, dry := range []bool{true, false} {
		removed, err := at(48*time.Hour).GCArtifacts(ctx, 24*time.Hour, dry)
		require.NoError(t, err)
		require.Equal(t, state.Collected{Artifacts: 1, Bytes: 7}, removed)
	}
	_, err = at(0).Artifact(ctx, named)
	require.NoError(t, err)
	_, err = at(0).Artifact(ctx, unnamed)
	require.ErrorIs(t, err, fault.StateCorrupt)

	_, err = at(48 * time.Hour).FinishMoves(ctx)
	require.NoError(t, err)
	_, err = at(0).Receipt(ctx, "abcd2345")
	require.NoError(t, err)
	_, err = at(8 * 24 * time.Hour).FinishMoves(ctx)
	require.NoError(t, err)
	_, err = at(0).Receipt(ctx, "abcd2345")
	require.ErrorIs(t, err, fault.NotWitnessed)
}

// Of an artifact that lacks a part nothing is set aside, and it can be put again.
func TestAnArtifactWithoutAPart(t *testing.T) {
	t.Parallel()
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: mongotest.Start(t).URI(mongotest.NewDatabase()) + "?timeoutMS=60000"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	store, err := mongostate.Open(database, mongostate.Options{})
	require.NoError(t, err)
	ctx, large := t.Context(), bytes.Repeat([]byte("a"), 9<<20)
	digest, err := store.PutArtifact(ctx, large)
	require.NoError(t, err)
	parts := database.Collection("artifacts_parts")
	var keys []string
	require.NoError(t, parts.Heads(ctx, "", "~", func(part mongo.Document) error { keys = append(keys, part.Key); return nil }))
	require.Len(t, keys, 2)
	require.NoError(t, parts.Delete(ctx, keys[1]))
	_, err = store.Artifact(ctx, digest)
	require.ErrorIs(t, err, fault.StateCorrupt)

	kept, err := store.Quarantine(ctx, digest)
	require.NoError(t, err)
	require.Empty(t, kept)
	_, err = store.PutArtifact(ctx, large)
	require.NoError(t, err)
	found, err := store.Artifact(ctx, digest)
	require.NoError(t, err)
	require.Len(t, found, len(large))
}
