package access_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

func TestScopesIncludeEachOther(t *testing.T) {
	for scope, may := range map[access.Scope][]access.Scope{access.Read: {access.Read}, access.Guide: {access.Read, access.Guide},
		access.Run: {access.Read, access.Guide, access.Run}, access.Approve: {access.Approve}} {
		caller := access.Caller{Scopes: []access.Scope{scope}}
		for _, each := range access.Scopes() {
			require.Equal(t, contains(may, each), caller.May(each), "%s: %s", scope, each)
		}
	}
	_, err := access.ParseScopes([]string{"read", "root"})
	require.ErrorIs(t, err, fault.InvalidParams)
}

func contains(list []access.Scope, one access.Scope) bool {
	for _, each := range list {
		if each == one {
			return true
		}
	}
	return false
}

func TestAFileOfTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "tokens.json")
	tokens, err := webguard.ReadTokens(path)
	require.NoError(t, err)
	require.Empty(t, tokens)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} { // each in a process of its own, as far as locks know
		all.Go(func() {
			_, err := access.Add(t.Context(), path, webguard.Token{Name: name, Scopes: []string{"read"}})
			require.NoError(t, err)
		})
	}
	all.Wait()
	tokens, err = webguard.ReadTokens(path)
	require.NoError(t, err)
	require.Len(t, tokens, 4, "none is lost")
	for _, name := range []string{"a", "A", "ａ"} {
		_, err = access.Add(t.Context(), path, webguard.Token{Name: name})
		require.ErrorIs(t, err, fault.IDCollision, name)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.WriteFile(path, []byte(`{"note": 1, "tokens": [{"name": "x", "digest": "`+webguard.Digest("y")+`", "extra": true}]}`), 0o600))
	secret, err := access.Add(t.Context(), path, webguard.Token{Name: "new", Scopes: []string{"run"}, Path: "/srv", PerMinute: 3, PerDay: 4})
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(data), secret)
	var held struct {
		Note   int
		Tokens []map[string]any
	}
	require.NoError(t, json.Unmarshal(data, &held))
	require.Equal(t, 1, held.Note, "what somebody else wrote is kept")
	require.Equal(t, true, held.Tokens[0]["extra"])

	door, err := access.NewDoor(access.DoorOptions{File: path, Open: true})
	require.NoError(t, err)
	require.False(t, door.Open())
	caller, err := door.Caller(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, access.Caller{Name: "new", Scopes: []access.Scope{access.Run}, Folder: "/srv", PerMinute: 3, PerDay: 4}, caller)
	_, err = door.Caller(t.Context(), "")
	require.ErrorIs(t, err, access.ErrNoToken)
	for _, name := range []string{"new", "x"} {
		require.NoError(t, access.Revoke(t.Context(), path, name))
	}
	require.ErrorIs(t, access.Revoke(t.Context(), path, "x"), fault.InvalidParams)
	_, err = door.Caller(t.Context(), secret)
	require.ErrorIs(t, err, access.ErrWrongToken)
	_, err = door.Caller(t.Context(), "")
	require.ErrorIs(t, err, access.ErrNoToken, "the door does not open when the last token goes")
	_, err = access.NewDoor(access.DoorOptions{File: path, Open: true})
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, []byte(`{`), 0o600))
	_, err = access.NewDoor(access.DoorOptions{File: path, Open: true})
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = access.Add(t.Context(), path, webguard.Token{Name: "n"})
	require.ErrorIs(t, err, fault.InvalidParams, "a damaged file is not written over")
}
