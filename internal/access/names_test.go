package access_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/access"
	"savant/internal/webguard"
)

// A token that is called as the person at this machine is not taken for them.
func TestATokenIsNoPersonAtThisMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	for name, known := range map[string]string{"local": "token local", "hub": "token hub", "anna": "anna"} {
		secret, err := access.Add(t.Context(), file, webguard.Token{Name: name, Scopes: []string{"read"}})
		require.NoError(t, err)
		door, err := access.NewDoor(access.DoorOptions{File: file})
		require.NoError(t, err)
		caller, err := door.Caller(t.Context(), secret)
		require.NoError(t, err)
		require.Equal(t, known, caller.Name)
	}
}
