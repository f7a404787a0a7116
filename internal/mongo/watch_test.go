package mongo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
)

// A watcher is notified of inserts in its range of keys, also after its connections broke.
func TestWatch(t *testing.T) {
	t.Parallel()
	streams := mongotest.NewChangeStreams(t, mongotest.Start(t))
	database := open(t, streams.URI(mongotest.NewDatabase()))
	documents := database.Collection("c")
	changes, stop := documents.Watch(t.Context(), "a", "b")
	defer stop()
	<-changes.Notices() // the stream is open
	require.True(t, changes.Live())
	insert := func(keys ...string) {
		for _, key := range keys {
			won, err := documents.Insert(t.Context(), mongo.Document{Key: key})
			require.NoError(t, err)
			require.True(t, won)
		}
	}
	insert("b1")
	insert("a1")
	<-changes.Notices()
	select {
	case <-changes.Notices():
		t.Fatal("one document was inserted in the range")
	default:
	}
	streams.Break()
	require.Eventually(t, func() bool { return streams.Opened() == 2 }, time.Minute, time.Millisecond, "the driver opens the stream again")
	insert("a2")
	<-changes.Notices()
	require.True(t, changes.Live())
}

// A server without streams of changes is asked once whether it has them, and tells nothing.
func TestWatchWithoutChangeStreams(t *testing.T) {
	t.Parallel()
	server := mongotest.Start(t)
	if server.Foreign() {
		t.Skip("the server may have streams of changes")
	}
	var sent lockedNames
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase())}, Sent: sent.add})
	require.NoError(t, err)
	defer func() { require.NoError(t, database.Close(t.Context())) }()
	for range 3 {
		changes, stop := database.Collection("c").Watch(t.Context(), "", "z")
		require.Eventually(t, func() bool { return sent.count("hello") > 0 }, time.Minute, time.Millisecond)
		stop()
		require.False(t, changes.Live())
		require.Empty(t, changes.Notices())
	}
	require.Zero(t, sent.count("aggregate"))
}

// lockedNames counts commands by their names.
type lockedNames struct {
	mu    sync.Mutex
	names map[string]int
}

func (l *lockedNames) add(name, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]int{}
	}
	l.names[name]++
}

func (l *lockedNames) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names[name]
}
