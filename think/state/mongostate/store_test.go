package mongostate_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/test/mongotest"
	"savant/test/statetest"
	"savant/think/state"
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

// fewerChecks makes fewer random checks: each is some hundred calls of a server.
func fewerChecks(t *testing.T) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	usual := checks.Value.String()
	few := "3"
	if os.Getenv("CI") != "" {
		few = "20"
	}
	require.NoError(t, checks.Value.Set(few))
	t.Cleanup(func() { require.NoError(t, checks.Value.Set(usual)) })
}

func TestStore(t *testing.T) {
	server := mongotest.Start(t)
	fewerChecks(t)
	commands := &filters{seen: map[string]int{}}
	statetest.RunBackend(t, func(t *testing.T) state.Backend {
		// On a busy machine a call of many at once may take longer than the default.
		return openWith(t, mongo.Options{Address: mongo.Address{URI: server.URI(mongotest.NewDatabase()) + "?timeoutMS=60000"}, Sent: commands.sent})
	})
	require.Empty(t, commands.wrong, "a filter that is no key")
	for _, each := range []string{"find", "insert", "update"} {
		require.NotZero(t, commands.seen[each])
	}
}
