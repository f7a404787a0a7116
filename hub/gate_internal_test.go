package hub

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

func request(t *testing.T, cookie *http.Cookie) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.AddCookie(cookie)
	return r
}

// TestASessionEnds, and is known to a hub with the same key alone.
func TestASessionEnds(t *testing.T) {
	now := time.Now()
	one, err := newGate("127.0.0.1:9999", []byte("key"))
	require.NoError(t, err)
	cookie := one.newSession(now)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	session := one.session(request(t, cookie), now.Add(sessionTime-2*time.Second))
	require.NotEmpty(t, session)
	require.Empty(t, one.session(request(t, cookie), now.Add(sessionTime+time.Second)))
	require.NotEqual(t, one.token(session), one.token(one.session(request(t, one.newSession(now)), now)), "each session has a token of its own")

	again, err := newGate("127.0.0.1:9999", []byte("key"))
	require.NoError(t, err)
	require.Equal(t, session, again.session(request(t, cookie), now))
	for _, key := range [][]byte{[]byte("other"), nil, nil} {
		other, err := newGate("127.0.0.1:9999", key)
		require.NoError(t, err)
		require.Empty(t, other.session(request(t, cookie), now))
	}
}

func TestAGateStandsOnThisMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:1", "[::]:1", "192.0.2.1:1", "example.org:1", "127.0.0.1"} {
		_, err := newGate(address, nil)
		require.ErrorIs(t, err, fault.InvalidParams, address)
	}
	_, err := newGate("[::1]:1", nil)
	require.NoError(t, err)
}
