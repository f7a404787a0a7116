//go:build unix

package program

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
)

// authorisation is an authorisation server of the tests, with one key.
type authorisation struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey
}

func newAuthorisation(t *testing.T) *authorisation {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	a := &authorisation{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": a.URL, "jwks_uri": a.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		part := base64.RawURLEncoding.EncodeToString
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256",
			"n": part(key.N.Bytes()), "e": part(big.NewInt(int64(key.E)).Bytes())}}})
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// token is one with scopes, for an audience.
func (a *authorisation) token(audience, scopes string) string {
	a.t.Helper()
	part := func(value any) string {
		text, err := json.Marshal(value)
		require.NoError(a.t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]string{"alg": "RS256", "kid": "one", "typ": "at+jwt"}) + "." +
		part(map[string]any{"iss": a.URL, "aud": audience, "sub": "ada", "scope": scopes, "exp": time.Now().Add(time.Hour).Unix()})
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, digest[:])
	require.NoError(a.t, err)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

const asksAPerson = "name: asks\nversion: \"1\"\nsteps:\n  - {id: sure, call: human.approve, input_template: {message: \"Sure?\"}}\n"

// A bearer of the authorisation server may what the scopes of its token say, and no more: at
// the real tools, and for this server alone.
func TestScopesOfAnAuthorisationServer(t *testing.T) {
	t.Parallel()
	issuer, folder := newAuthorisation(t), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "asks.yaml"), []byte(asksAPerson), 0o600))
	s := serveHTTP(t, folder, "SAVANT_HTTP_URL=https://savant.example", "SAVANT_HTTP_ISSUER="+issuer.URL, "XDG_CONFIG_HOME="+t.TempDir(), "LOG_LEVEL=debug")
	of := func(scopes string) string { return issuer.token("https://savant.example/mcp", scopes) }
	status, _ := s.callHTTP(t, issuer.token("https://other.example/mcp", "run"), "think.workflows.list", map[string]any{})
	require.Equal(t, http.StatusUnauthorized, status, "a token for another server")
	status, body := s.get(t, "/.well-known/oauth-protected-resource/mcp")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, issuer.URL)

	calls := []struct {
		tool  string
		args  map[string]any
		needs string
	}{
		{"think.workflows.list", map[string]any{}, "read"},
		{"think.plan", map[string]any{"workflow": "asks"}, "guide"},
		{"think.reset", map[string]any{"run_id": "none"}, "guide"},
		{"agent.run", map[string]any{"goal": "x", "dry_run": true, "force_tool": "git.status", "force_finish": true}, "run"},
		{"workflow.workflow_run", map[string]any{"workflow": "none"}, "run"},
		{"no.such", map[string]any{}, "run"},
	}
	rank := map[string]int{"email": 0, "approve": 0, "read": 1, "guide": 2, "run": 3}
	tokens := []string{}
	for scopes, held := range rank {
		token := of(scopes + " email")
		tokens = append(tokens, token)
		for _, each := range calls {
			status, body := s.callHTTP(t, token, each.tool, each.args)
			expected := http.StatusOK
			if rank[each.needs] > held {
				expected = http.StatusForbidden
				require.Contains(t, body, "TOOL_DENIED")
			}
			require.Equal(t, expected, status, "%s with %s: %s", each.tool, scopes, body)
		}
	}

	guide := of("guide")
	status, body = s.callHTTP(t, guide, "think.plan", map[string]any{"workflow": "asks", "run_id": "r"})
	require.Equal(t, http.StatusOK, status, body)
	for _, result := range []any{map[string]any{"approved": true}, map[string]any{"action": "accept"}, "yes", true, nil} {
		_, body = s.callHTTP(t, guide, "think.next", map[string]any{"run_id": "r", "step_id": "sure", "result_snapshot": result})
		require.Contains(t, body, `"isError":true`, "a client that may guide answered for the person with %v: %s", result, body)
	}
	_, body = s.callHTTP(t, guide, "think.state.list", map[string]any{})
	require.NotContains(t, body, `\"status\":\"done\"`)
	require.Equal(t, cli.ExitOK, s.end(t), s.log())
	for _, token := range append(tokens, guide) {
		require.NotContains(t, s.log(), token)
		_, signature, _ := strings.Cut(token[strings.Index(token, ".")+1:], ".")
		require.NotContains(t, s.log(), signature)
	}
}

// Clients that send a byte now and then, or nothing, keep nobody else from the server, and
// lose their connections.
func TestClientsThatSendSlowly(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, t.TempDir())
	host, _, _ := strings.Cut(strings.TrimPrefix(s.address, "http://"), "/")
	var slow []net.Conn
	for range 100 {
		connection, err := net.Dial("tcp", host)
		require.NoError(t, err)
		defer connection.Close()
		_, err = io.WriteString(connection, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		require.NoError(t, err)
		slow = append(slow, connection)
	}
	status, body := s.callHTTP(t, "", "think.workflows.list", map[string]any{})
	require.Equal(t, http.StatusOK, status, body)
	for _, connection := range slow {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(hang)))
		_, err := io.Copy(io.Discard, connection) // until the server ends it
		require.NoError(t, err)
	}
	require.Equal(t, cli.ExitOK, s.end(t), s.log())
}

// A server that is asked to end answers the call that it has, refuses others, says at
// /readyz that it is ending, and is gone then.
func TestAServerThatEndsAnswersWhatItHas(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `{"action":"finish","final":"here it is"}`)
	}))
	t.Cleanup(api.Close)
	s := serveHTTP(t, t.TempDir(), "REASONING_API_URL="+api.URL, "HOME="+t.TempDir())
	type answer struct {
		status int
		body   string
	}
	answered := make(chan answer, 1)
	go func() {
		status, body := s.callHTTP(t, "", "agent.run", map[string]any{"goal": "where is it?", "wait_ms": 50000})
		answered <- answer{status, body}
	}()
	<-asked
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { status, _ := s.get(t, "/readyz"); return status == http.StatusServiceUnavailable }, hang, time.Millisecond)
	_, body := s.get(t, "/readyz")
	require.JSONEq(t, `{"status":"ending"}`, body)
	status, _ := s.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	status, body = s.callHTTP(t, "", "think.workflows.list", map[string]any{})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "ENGINE_OFFLINE")
	close(release)
	got := <-answered
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, "here it is")
	<-s.read
	_ = s.command.Wait()
	require.Equal(t, cli.ExitOK, s.command.ProcessState.ExitCode(), s.log())
}
