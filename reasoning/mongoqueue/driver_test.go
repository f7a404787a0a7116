package mongoqueue_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"savant/internal/mongo"
	"savant/reasoning"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// serveByDriver answers the questions of a queue as docs/reasoning-api.md describes its
// documents, with nothing but a driver: what a service in any language does.
func serveByDriver(ctx context.Context, t *testing.T, queue *driver.Collection, answer func(question map[string]any) map[string]any) {
	insert := func(id string, more bson.D) bool {
		_, err := queue.InsertOne(ctx, append(bson.D{{Key: "_id", Value: id}, {Key: "nonce", Value: bson.NewObjectID().Hex()}, {Key: "at", Value: time.Now()}}, more...))
		return err == nil
	}
	for ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		var waiting bson.M
		if queue.FindOne(ctx, bson.M{"_id": bson.M{"$gte": "todo\x1f", "$lt": "todo\x1f~"}}, options.FindOne().SetSort(bson.M{"_id": 1})).Decode(&waiting) != nil {
			continue
		}
		entry := waiting["_id"].(string)
		id := strings.SplitN(entry, "\x1f", 3)[2]
		if queue.FindOne(ctx, bson.M{"_id": id + "\x1fresult"}).Err() == nil { // asked again, and answered
			_, _ = queue.DeleteOne(ctx, bson.M{"_id": entry})
			continue
		}
		if !insert(id+"\x1fclaim\x1f0001", bson.D{{Key: "meta", Value: "a service of one's own"}}) {
			continue // somebody else was first
		}
		var job struct{ Body string }
		if queue.FindOne(ctx, bson.M{"_id": id}).Decode(&job) != nil {
			continue
		}
		var question map[string]any
		if json.Unmarshal([]byte(job.Body), &question) != nil {
			t.Errorf("the question is not JSON: %s", job.Body)
			return
		}
		result, err := json.Marshal(map[string]any{"answer": answer(question), "owner": "a service of one's own", "claim": 1})
		if err != nil || !insert(id+"\x1fresult", bson.D{{Key: "body", Value: string(result)}}) {
			t.Errorf("the result was not written")
		}
		_, _ = queue.DeleteOne(ctx, bson.M{"_id": entry})
	}
}

// A service in any language can answer: with plain calls of a driver, on the documents
// that are described.
func TestOnesOwnServiceAnswersTheQueue(t *testing.T) {
	t.Parallel()
	uri := mongotest.Start(t).URI(mongotest.NewDatabase())
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	early := reasoning.New(reasoning.Options{Transport: mongoqueue.New(database), Timeout: 2 * time.Second})
	_, err = early.Decide(t.Context(), reasoning.Request{RunID: "r-one", Step: 1, Goal: "one"}, reasoning.Unobserved{})
	require.ErrorContains(t, err, "no worker has taken the question") // asked again below, it is listed twice
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveByDriver(ctx, t, client.Database(database.Name()).Collection(mongoqueue.Collection), func(question map[string]any) map[string]any {
			return map[string]any{"action": "finish", "final": "asked " + question["goal"].(string)}
		})
	}()
	asks := reasoning.New(reasoning.Options{Transport: mongoqueue.New(database), Remote: true, Timeout: time.Minute})
	for _, goal := range []string{"one", "two"} {
		intent, err := asks.Decide(t.Context(), reasoning.Request{RunID: "r-" + goal, Step: 1, Goal: goal}, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "asked "+goal, intent.Final)
	}
	require.Eventually(t, func() bool { // who asked takes the answered question away behind its answer
		waiting, err := mongoqueue.New(database).Unanswered(t.Context())
		return err == nil && waiting == 0
	}, time.Minute, 10*time.Millisecond)
	stop()
	<-done
}

// A question that its worker gave back waits for one, and is not taken for one that is being answered.
func TestAQuestionThatWasGivenBackWaits(t *testing.T) {
	t.Parallel()
	uri := mongotest.Start(t).URI(mongotest.NewDatabase())
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	queue, request := database.Collection(mongoqueue.Collection), reasoning.Request{RunID: "back", Step: 1, Goal: "g"}
	asked := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := mongoqueue.New(database).RoundTrip(ctx, request, reasoning.Unobserved{})
		return err
	}
	for number, held := range []bool{true, false} {
		part := []string{"claim", "end"}[number]
		_, err = queue.Insert(t.Context(), mongo.Document{Key: request.Key() + "\x1f" + part + "\x1f0001", Meta: "a service of one's own"})
		require.NoError(t, err)
		if held {
			require.ErrorAs(t, asked(), new(*reasoning.Pending))
		} else {
			require.ErrorContains(t, asked(), "no worker has taken the question")
		}
	}
}
