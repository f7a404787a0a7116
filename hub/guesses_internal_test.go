package hub

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

// TestWrongTokensAreLimited checks that wrong tokens are limited for each address, and
// that other addresses are not affected.
func TestWrongTokensAreLimited(t *testing.T) {
	options := optionsAt("127.0.0.1:9999")
	var right string
	options.Door, right = oneToken(t)
	gate, err := newGate(options)
	require.NoError(t, err)
	from := func(address string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/enter", nil)
		r.RemoteAddr = address
		return r
	}
	now := time.Now()
	for range guessesAtOnce {
		_, err := gate.try(from("192.0.2.1:1000"), "wrong", now)
		require.ErrorIs(t, err, fault.ToolDenied)
	}
	for _, token := range []string{"wrong", right} {
		_, err = gate.try(from("192.0.2.1:1001"), token, now)
		require.ErrorIs(t, err, fault.LimitExceeded, "another port is the same address")
	}
	for range 2 * guessesAtOnce {
		_, err = gate.try(from("192.0.2.2:1000"), right, now)
		require.NoError(t, err, "right ones are not counted")
	}
	_, err = gate.try(from("192.0.2.1:1001"), right, now.Add(guessesPause))
	require.NoError(t, err)
	for i := range guessesAtPlace + 1 {
		r := from("192.0.2.1:1")
		r.RemoteAddr = string(rune('a'+i%26)) + strings.Repeat("x", i/26) + ":1"
		gate.guesses.limiter(r)
	}
	require.LessOrEqual(t, len(gate.guesses.of), guessesAtPlace)
}

// oneToken is a door that one token opens, which reads.
func oneToken(t *testing.T) (*access.Door, string) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	secret, err := access.Add(t.Context(), file, webguard.Token{Name: "one", Scopes: []string{"read"}})
	require.NoError(t, err)
	door, err := access.NewDoor(access.DoorOptions{File: file})
	require.NoError(t, err)
	return door, secret
}

// TestAPageOfWrongTokens checks that the page reports the limit and that an existing
// session continues.
func TestAPageOfWrongTokens(t *testing.T) {
	s := newSite(t)
	for range guessesAtOnce {
		require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, "/enter", url.Values{"token": {"wrong"}}).Code)
	}
	answer := s.do(http.MethodPost, "/enter", url.Values{"token": {"wrong"}})
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Contains(t, answer.Body.String(), "LIMIT_EXCEEDED")
	s.page("/runs")
}
