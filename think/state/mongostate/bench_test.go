package mongostate_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"savant/internal/mongo"
	"savant/test/mongotest"
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

// filled makes a store with runs, and returns what opens it as a process does that has seen
// none of them. Their documents are what the store writes, in as few commands as the server
// takes.
func filled(b *testing.B) (fresh func() *mongostate.Store, keys []state.Key, commands *counted) {
	server := mongotest.Start(b)
	name := mongotest.NewDatabase()
	client, err := driver.Connect(options.Client().ApplyURI(server.URI(name)))
	require.NoError(b, err)
	defer func() { _ = client.Disconnect(b.Context()) }()
	database := client.Database(name)
	var records, runs []any
	flush := func() {
		for collection, documents := range map[string][]any{"state_records": records, "state_runs": runs} {
			if len(documents) > 0 {
				_, err := database.Collection(collection).InsertMany(b.Context(), documents)
				require.NoError(b, err)
			}
		}
		records, runs = nil, nil
	}
	for i := range size() {
		key := state.Key{Workflow: fmt.Sprintf("w%d", i%20), Run: fmt.Sprintf("r%06d", i)}
		keys = append(keys, key)
		var last state.Link
		for version := 1; version <= recordsOfARun; version++ {
			sealed, line, err := state.Seal(key, last, step(version, i, version), time.Now())
			require.NoError(b, err)
			last = state.Link{Version: version, Hash: sealed.Hash}
			records = append(records, document(fmt.Sprintf("%s@%06d", key, version), line))
		}
		hint := fmt.Sprintf(`{"seq":96,"version":96,"status":"running","created":%q,"updated":%q}`, fixedTime, fixedTime)
		runs = append(runs, document(key.String(), []byte(hint)))
		if len(runs) == 10 {
			flush()
		}
	}
	flush()
	for i := range min(size(), 20) {
		_, err := database.Collection("state_workflows").InsertOne(b.Context(), document(fmt.Sprintf("w%d", i), nil))
		require.NoError(b, err)
	}
	commands = &counted{seen: map[string]int{}}
	return func() *mongostate.Store {
		return openWith(b, mongo.Options{Address: mongo.Address{URI: server.URI(name)}, Sent: commands.sent})
	}, keys, commands
}

// document is one as the store writes it.
func document(key string, body []byte) bson.D {
	found := bson.D{{Key: "_id", Value: key}, {Key: "nonce", Value: rand.Text()}, {Key: "at", Value: time.Now()}}
	if len(body) > 0 {
		found = append(found, bson.E{Key: "body", Value: string(body)})
	}
	return found
}

// BenchmarkStore: what a step, a look, opening a run and a listing cost, beside one
// insert and one find of the same database.
func BenchmarkStore(b *testing.B) {
	fresh, keys, commands := filled(b)
	store := fresh()
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
	list := func(b *testing.B, from func() *mongostate.Store) {
		finds := 0
		for b.Loop() {
			b.StopTimer()
			store, before := from(), commands.seen["find"]
			b.StartTimer()
			infos, err := store.List(b.Context(), state.Filter{})
			require.NoError(b, err)
			require.GreaterOrEqual(b, len(infos), len(keys))
			finds += commands.seen["find"] - before
		}
		b.ReportMetric(float64(finds)/float64(b.N)/float64(len(keys)), "finds/run")
	}
	b.Run("list", func(b *testing.B) { list(b, fresh) })
	_, err := store.List(b.Context(), state.Filter{})
	require.NoError(b, err)
	b.Run("list again", func(b *testing.B) { list(b, func() *mongostate.Store { return store }) })
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
