package jobs_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/internal/mongotest"
)

// BenchmarkRoundTrip: from a question to its answer, beside one insert and one find of
// the same database. The pauses between two looks are part of it.
func BenchmarkRoundTrip(b *testing.B) {
	server := mongotest.Start(b)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase())}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = database.Close(b.Context()) })
	documents := database.Collection("jobs")
	queue := jobs.New(documents)
	worker := &jobs.Worker{Queue: queue, Owner: "w", Concurrency: 4, Lease: time.Minute, MaxClaims: 3, Do: echo}
	go func() { _ = worker.Run(b.Context()) }()
	var pair time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		_, err := documents.Insert(b.Context(), mongo.Document{Key: "bare" + strconv.Itoa(i)})
		require.NoError(b, err)
		_, _, err = documents.Find(b.Context(), "bare"+strconv.Itoa(i))
		require.NoError(b, err)
		pair += time.Since(began)
		require.NoError(b, queue.Enqueue(b.Context(), strconv.Itoa(i), []byte("{}")))
		_, err = queue.Wait(b.Context(), strconv.Itoa(i))
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed()-pair)/float64(pair), "pairs/op")
}
