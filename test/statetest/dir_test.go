package statetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/state"
)

func openDir(t *testing.T, options state.Options) *state.Dir {
	store, err := state.Open(t.TempDir(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestDir(t *testing.T) {
	fewerChecks(t, 15, 100) // each syncs files
	testBackend(t, func(t *testing.T) state.Backend { return openDir(t, state.Options{}) })
}

// TestDirWithFewHandles keeps so few journals open that every call opens one.
func TestDirWithFewHandles(t *testing.T) {
	fewerChecks(t, 15, 100)
	testStorage(t, func(t *testing.T) state.Storage { return openDir(t, state.Options{MaxOpen: 1}) })
}
