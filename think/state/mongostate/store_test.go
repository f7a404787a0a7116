package mongostate_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/internal/mongotest"
	"savant/think/state"
	"savant/think/state/mongostate"
	"savant/think/state/statetest"
)

// open returns the store of a database. It closes with the test.
func open(t *testing.T, uri string) *mongostate.Store {
	t.Helper()
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
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
	statetest.RunBackend(t, func(t *testing.T) state.Backend { return open(t, server.URI(mongotest.NewDatabase())) })
}
