package mongoqueue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/internal/mongotest"
	"savant/reasoning"
	"savant/reasoning/mongoqueue"
)

// Over a slow network too, a question that nobody waits for is taken out of the queue, so
// that no worker pays for its answer.
func TestAQuestionIsCancelledOverASlowNetwork(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, server, 1)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: proxy.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	queue := mongoqueue.New(database)
	ctx, cancel := context.WithCancel(t.Context())
	request := reasoning.Request{RunID: "r", Step: 1, Goal: "g"}
	asked := make(chan error, 1)
	go func() {
		_, err := queue.RoundTrip(ctx, request)
		asked <- err
	}()
	require.Eventually(t, func() bool {
		waiting, err := queue.Unanswered(t.Context())
		return err == nil && waiting == 1
	}, time.Minute, time.Millisecond)
	proxy.Use(mongotest.Faults{Latency: 60 * time.Millisecond})
	cancel()
	require.ErrorIs(t, <-asked, context.Canceled)
	result, ended, err := jobs.New(database.Collection(mongoqueue.Collection)).Result(t.Context(), request.Key())
	require.NoError(t, err)
	require.True(t, ended, "the question is still in the queue")
	require.True(t, result.Cancelled)
}
