package mongostate_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/think/state/mongostate"
)

// open returns the store of a database. It closes with the test.
func open(t testing.TB, uri string) *mongostate.Store {
	return openWith(t, mongo.Options{Address: mongo.Address{URI: uri}})
}

func openWith(t testing.TB, options mongo.Options) *mongostate.Store {
	t.Helper()
	database, err := mongo.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	store, err := mongostate.Open(database, mongostate.Options{})
	require.NoError(t, err)
	return store
}

// counted counts the commands that are sent, by name.
type counted struct {
	mu   sync.Mutex
	seen map[string]int
}

// sent is mongo.Options.Sent.
func (c *counted) sent(name, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[name]++
}
