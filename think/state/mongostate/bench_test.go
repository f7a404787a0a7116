package mongostate_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"savant/internal/mongo"
	"savant/internal/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
)

// size is how many runs a benchmark has, each with a hundred records: 10,000 runs and
// 1,000,000 records with SAVANT_BENCH_RUNS=10000.
func size() int {
	if runs, err := strconv.Atoi(os.Getenv("SAVANT_BENCH_RUNS")); err == nil {
		return runs
	}
	return 50
}

const recordsOfARun = 100

// filled returns a store with runs, and a client that has seen none of them.
func filled(b *testing.B) (*mongostate.Store, []state.Key, *filters) {
	server := mongotest.Start(b)
	uri := server.URI(mongotest.NewDatabase())
	writing := open(b, uri)
	var keys []state.Key
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(16)
	for i := range size() {
		key := state.Key{Workflow: fmt.Sprintf("w%d", i%20), Run: fmt.Sprintf("r%06d", i)}
		keys = append(keys, key)
		group.Go(func() error {
			for version := 1; version <= recordsOfARun; version++ {
				if _, err := writing.Append(ctx, key, step(version, i, version)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	commands := &filters{seen: map[string]int{}}
	return openWith(b, mongo.Options{Address: mongo.Address{URI: uri}, Sent: commands.sent}), keys, commands
}

// BenchmarkStore: what a step, a look, opening a run and a listing cost, beside one
// insert and one find of the same database.
func BenchmarkStore(b *testing.B) {
	store, keys, commands := filled(b)
	insert, find := bare(b)
	b.Run("append", func(b *testing.B) {
		key := state.Key{Workflow: "w", Run: "bench" + strconv.Itoa(b.N)}
		for i := 1; b.Loop(); i++ {
			_, err := store.Append(b.Context(), key, step(i, 0, i))
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(insert), "inserts/op")
	})
	b.Run("head", func(b *testing.B) {
		for b.Loop() {
			_, _, err := store.Head(b.Context(), keys[0])
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(find), "finds/op")
	})
	b.Run("open", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			records, err := store.Records(b.Context(), keys[i%len(keys)], 0, 0)
			require.NoError(b, err)
			require.Len(b, records, recordsOfARun)
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(find), "finds/op")
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			infos, err := store.List(b.Context(), state.Filter{})
			require.NoError(b, err)
			require.GreaterOrEqual(b, len(infos), len(keys))
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(find)/float64(len(keys)), "finds/run")
	})
	require.Empty(b, commands.wrong, "a filter that is no key")
}

// bare returns what one insert and one find cost.
func bare(b *testing.B) (insert, find time.Duration) {
	const times = 100
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: mongotest.Start(b).URI("savant_test_bare")}})
	require.NoError(b, err)
	defer database.Close(b.Context())
	documents := database.Collection("bare")
	_, err = documents.Insert(b.Context(), mongo.Document{Key: "first"})
	require.NoError(b, err)
	began := time.Now()
	for i := range times {
		_, err := documents.Insert(b.Context(), mongo.Document{Key: strconv.Itoa(i), Body: []byte(`{"n":1}`)})
		require.NoError(b, err)
	}
	insert = time.Since(began) / times
	began = time.Now()
	for i := range times {
		_, _, err := documents.Find(b.Context(), strconv.Itoa(i))
		require.NoError(b, err)
	}
	return insert, time.Since(began) / times
}
