package hub

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

func request(t *testing.T, cookie *http.Cookie) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.AddCookie(cookie)
	return r
}

func optionsAt(address string) Options {
	return Options{Address: address, Folder: "/folder", Logger: slog.New(slog.DiscardHandler)}
}

// TestASessionEnds also checks that a restarted hub still knows a session and that
// another hub does not.
func TestASessionEnds(t *testing.T) {
	now := time.Now()
	options := optionsAt("127.0.0.1:9999")
	options.Sessions = filepath.Join(t.TempDir(), "sessions")
	one, err := newGate(options)
	require.NoError(t, err)
	cookie := one.newSession(access.Caller{Scopes: access.Scopes()}, "", now)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	who, known := one.visitorOf(request(t, cookie), now.Add(sessionTime-2*time.Second))
	require.True(t, known)
	_, known = one.visitorOf(request(t, cookie), now.Add(sessionTime+time.Second))
	require.False(t, known)
	other, known := one.visitorOf(request(t, one.newSession(access.Caller{Scopes: access.Scopes()}, "", now)), now)
	require.True(t, known)
	require.NotEqual(t, who.csrf(), other.csrf(), "each session has a token of its own")

	again, err := newGate(options)
	require.NoError(t, err)
	same, known := again.visitorOf(request(t, cookie), now)
	require.True(t, known, "a page goes on with a hub that was started again")
	require.Equal(t, who, same)
	for _, change := range []func(*Options){func(o *Options) { o.Folder = "/other" }, func(o *Options) { o.Address = "127.0.0.1:9998" }, func(o *Options) { o.Sessions = "" }} {
		different := options
		change(&different)
		gate, err := newGate(different)
		require.NoError(t, err)
		cookie := *cookie
		cookie.Name = gate.cookie
		_, known = gate.visitorOf(request(t, &cookie), now)
		require.False(t, known)
	}
	files, err := os.ReadDir(options.Sessions)
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	text, err := os.ReadFile(filepath.Join(options.Sessions, files[0].Name()))
	require.NoError(t, err)
	require.NotContains(t, string(text), cookie.Value, "whoever reads the file cannot enter")
	again.sessions.end(cookie.Value)
	_, known = again.visitorOf(request(t, cookie), now)
	require.False(t, known)
}

// TestAGateStandsOnThisMachine checks that a gate without a token accepts only loopback
// addresses.
func TestAGateStandsOnThisMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:1", "[::]:1", "192.0.2.1:1", "example.org:1", "127.0.0.1"} {
		_, err := newGate(optionsAt(address))
		require.ErrorIs(t, err, fault.InvalidParams, address)
	}
	_, err := newGate(optionsAt("[::1]:1"))
	require.NoError(t, err)
	options := optionsAt("0.0.0.0:1")
	options.Door, _ = oneToken(t)
	_, err = newGate(options)
	require.NoError(t, err)
	for _, address := range []string{"nonsense", "ftp://x", "https://host/path", "https://"} {
		options.URL = address
		_, err = newGate(options)
		require.ErrorIs(t, err, fault.InvalidParams, address)
	}
}

// TestASessionOfATokenEndsWithIt also checks that the session has only the scopes and
// the folder of its token.
func TestASessionOfATokenEndsWithIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	secret, err := access.Add(t.Context(), file, webguard.Token{Name: "phone", Scopes: []string{"read"}})
	require.NoError(t, err)
	elsewhere, err := access.Add(t.Context(), file, webguard.Token{Name: "other", Scopes: []string{"run"}, Path: "/elsewhere"})
	require.NoError(t, err)
	options := optionsAt("192.0.2.1:1")
	options.Door, err = access.NewDoor(access.DoorOptions{File: file})
	require.NoError(t, err)
	gate, err := newGate(options)
	require.NoError(t, err)
	for _, wrong := range []string{"", secret + "x", webguard.Digest(secret), elsewhere} {
		_, err = gate.bearer(t.Context(), wrong)
		require.ErrorIs(t, err, fault.ToolDenied)
	}
	caller, err := gate.bearer(t.Context(), secret)
	require.NoError(t, err)
	cookie := gate.newSession(caller, webguard.Digest(secret), time.Now())
	who, known := gate.visitorOf(request(t, cookie), time.Now())
	require.True(t, known)
	require.True(t, who.May(access.Read))
	require.False(t, who.May(access.Approve))
	require.NoError(t, access.Revoke(t.Context(), file, "phone"))
	_, known = gate.visitorOf(request(t, cookie), time.Now())
	require.False(t, known)
}
