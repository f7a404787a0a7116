package app

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// A queue behind a slow network is reachable, also at the first look, which makes the
// connection.
func TestAFarQueueIsReachable(t *testing.T) {
	t.Parallel()
	proxy := mongotest.NewProxy(t, mongotest.Start(t), 1)
	proxy.Use(mongotest.Faults{Latency: 130 * time.Millisecond})
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: proxy.URI(mongotest.NewDatabase())}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	found := standings{app: &App{}, queue: mongoqueue.New(database)}.Deciders(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, "reachable", found[0].State, found[0].Reason)
}
