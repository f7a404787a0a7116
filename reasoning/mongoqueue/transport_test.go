package mongoqueue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/reasoning"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// Over a slow network too, a question that nobody waits for is taken out of the queue, so
// that no worker pays for its answer.
func TestAQuestionIsCancelledOverASlowNetwork(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: proxy.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	queue := mongoqueue.New(database)
	const latency = 30 * time.Millisecond
	ask := func(ctx context.Context, run string) (reasoning.Request, <-chan error) {
		request, asked := reasoning.Request{RunID: run, Step: 1, Goal: "g"}, make(chan error, 1)
		go func() {
			_, err := queue.RoundTrip(ctx, request, reasoning.Unobserved{})
			asked <- err
		}()
		return request, asked
	}
	requireCancelled := func(t *testing.T, request reasoning.Request, asked <-chan error) {
		require.Error(t, <-asked)
		result, ended, err := jobs.New(database.Collection(mongoqueue.Collection)).Result(t.Context(), request.Key())
		require.NoError(t, err)
		require.True(t, ended, "the question is still in the queue")
		require.True(t, result.Cancelled)
	}
	t.Run("while it waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		request, asked := ask(ctx, "one")
		require.Eventually(t, func() bool {
			waiting, err := queue.Unanswered(t.Context())
			return err == nil && waiting == 1
		}, time.Minute, time.Millisecond)
		proxy.Use(mongotest.Faults{Latency: latency})
		cancel()
		requireCancelled(t, request, asked)
	})
	t.Run("while it is asked", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		proxy.Use(mongotest.Faults{Latency: latency, Answer: func(command bson.D) bson.D {
			if len(command) > 0 && command[0].Key == "insert" {
				cancel()
			}
			return nil
		}})
		request, asked := ask(ctx, "two")
		requireCancelled(t, request, asked)
	})
}
