package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/state"
	"savant/think/state/statetest"
)

func openDir(t testing.TB, folder string) *state.Dir {
	store, err := state.Open(folder, state.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestDir(t *testing.T) {
	statetest.Run(t, func(t *testing.T) state.Store { return openDir(t, t.TempDir()) })
}

// TestDirWithFewHandles keeps so few journals open that every call opens one.
func TestDirWithFewHandles(t *testing.T) {
	statetest.Run(t, func(t *testing.T) state.Store {
		store, err := state.Open(t.TempDir(), state.Options{MaxOpen: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	})
}
