package statetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
)

func TestMongo(t *testing.T) {
	server := mongotest.Start(t)
	fewerChecks(t, 3, 20) // each is some hundred calls of a server
	commands := &filters{seen: map[string]int{}}
	testBackend(t, func(t *testing.T) state.Backend {
		// On a busy machine a call of many at once may take longer than the default.
		database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase()) + "?timeoutMS=60000"}, Sent: commands.sent})
		require.NoError(t, err)
		t.Cleanup(func() { _ = database.Close(context.Background()) })
		store, err := mongostate.Open(database, mongostate.Options{})
		require.NoError(t, err)
		return store
	})
	require.Empty(t, commands.wrong, "a filter that is no key")
	for _, each := range []string{"find", "insert", "update"} {
		require.NotZero(t, commands.seen[each])
	}
}
