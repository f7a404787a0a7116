package mongostate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/state"
)

// TestALogWithoutItsLastRecordIsFound: in the database, the last record of a run is deleted,
// or replaced by one that continues the chain. A repair accepts what is left.
func TestALogWithoutItsLastRecordIsFound(t *testing.T) {
	server := mongotest.Start(t)
	for name, other := range map[string]bool{"deleted": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			uri := server.URI(mongotest.NewDatabase())
			database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
			require.NoError(t, err)
			t.Cleanup(func() { _ = database.Close(context.Background()) })
			records, ctx, key := database.Collection("state_records"), t.Context(), state.Key{Workflow: "w", Run: "r"}
			record := func(version int, status string) state.Record {
				kind := "result"
				if version == 1 {
					kind = "plan"
				}
				return state.Record{Version: version, Kind: kind, Status: status, State: "s", Data: []byte(`{}`)}
			}
			store := open(t, uri)
			for version := 1; version <= 3; version++ {
				_, err := store.Append(ctx, key, record(version, "running"))
				require.NoError(t, err)
			}
			kept, err := open(t, uri).Records(ctx, key, 0, 0)
			require.NoError(t, err, "the twin: a whole log")
			require.Len(t, kept, 3)

			require.NoError(t, records.Delete(ctx, "w/r@000003"))
			says, left := "w/r ends after record 2, but state_heads w/r stands for record 3", 2
			if other {
				_, line, err := state.Seal(key, state.Link{Version: 2, Hash: kept[1].Hash}, record(3, "done"), time.Unix(0, 0))
				require.NoError(t, err)
				won, err := records.Insert(ctx, mongo.Document{Key: "w/r@000003", Body: line})
				require.NoError(t, err)
				require.True(t, won)
				says, left = "w/r: record 3 is not the one that state_heads w/r stands for", 3
			}
			cut := open(t, uri)
			for range 2 {
				_, err = cut.Records(ctx, key, 0, 0)
				require.ErrorIs(t, err, fault.StateCorrupt)
				require.ErrorContains(t, err, says)
			}
			problems, err := open(t, uri).Check(ctx, key)
			require.NoError(t, err)
			require.Len(t, problems, 1)
			require.True(t, problems[0].Blocking)

			repaired, err := open(t, uri).Repair(ctx, key, 0)
			require.NoError(t, err)
			require.Equal(t, left, repaired.Version)
			require.Len(t, repaired.Lost, 3-left)
			after := open(t, uri)
			kept, err = after.Records(ctx, key, 0, 0)
			require.NoError(t, err)
			require.Len(t, kept, left)
			_, err = after.Append(ctx, key, record(left+1, "running"))
			require.NoError(t, err)
			_, err = open(t, uri).Records(ctx, key, 0, 0)
			require.NoError(t, err)
		})
	}
}
