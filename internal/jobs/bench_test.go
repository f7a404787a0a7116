package jobs_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/test/mongotest"
)

// BenchmarkRoundTrip: from a question to its answer, beside one insert and one find of
// the same database, where everybody looks now and then and where the database tells of
// changes. The worker has rested for a while when it is asked, or has just answered.
func BenchmarkRoundTrip(b *testing.B) {
	server := mongotest.Start(b)
	streams := mongotest.NewChangeStreams(b, server)
	for name, uri := range map[string]string{"looking": server.URI(mongotest.NewDatabase()), "streams": streams.URI(mongotest.NewDatabase())} {
		b.Run(name+"/rested", func(b *testing.B) { roundTrip(b, uri, 500*time.Millisecond) })
		b.Run(name+"/busy", func(b *testing.B) { roundTrip(b, uri, 0) })
	}
}

func roundTrip(b *testing.B, uri string, rest time.Duration) {
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(b, err)
	defer func() { _ = database.Close(context.Background()) }()
	documents := database.Collection("jobs")
	queue := jobs.New(documents)
	worker := &jobs.Worker{Queue: queue, Owner: "w", Concurrency: 4, Lease: time.Minute, MaxClaims: 3, Work: works{do: echo}}
	ctx, stop := context.WithCancel(b.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	working.Go(func() { _ = worker.Run(ctx) })
	var pair, trip time.Duration
	var trips []time.Duration
	for i := 0; b.Loop(); i++ {
		time.Sleep(rest)
		began := time.Now()
		_, err := documents.Insert(b.Context(), mongo.Document{Key: rand.Text()})
		require.NoError(b, err)
		_, _, err = documents.Find(b.Context(), "bare")
		require.NoError(b, err)
		pair += time.Since(began)
		began = time.Now()
		id := rand.Text()
		require.NoError(b, queue.Enqueue(b.Context(), id, []byte("{}")))
		_, err = queue.Wait(b.Context(), id)
		require.NoError(b, err)
		trip += time.Since(began)
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	b.ReportMetric(float64(trip)/float64(pair), "pairs/op")
	b.ReportMetric(float64(trips[len(trips)/2].Microseconds())/1000, "p50-ms")
}
