package webguard_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/webguard"
)

func request(t *testing.T, method string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestAServerIsKnownByItsHostsAlone(t *testing.T) {
	exact := webguard.Guard{Hosts: []string{"127.0.0.1:9", "localhost:9"}}
	for _, host := range []string{"127.0.0.1:9", "localhost:9", "LocalHost:9"} {
		require.NoError(t, exact.CheckHost(request(t, http.MethodGet, "Host", host)), host)
	}
	for _, host := range []string{"", "127.0.0.1", "127.0.0.1:8", "[::1]:9", "evil.example", "evil.example:9", "127.0.0.1.evil.example:9"} {
		require.ErrorIs(t, exact.CheckHost(request(t, http.MethodGet, "Host", host)), fault.ToolDenied, host)
	}
	lax := webguard.Guard{Addresses: true, Hosts: []string{"box"}}
	for _, host := range []string{"127.0.0.1:1", "[::1]:2", "192.0.2.1", "localhost.", "a.localhost:3", "box", "Box:4"} {
		require.NoError(t, lax.CheckHost(request(t, http.MethodGet, "Host", host)), host)
	}
	for _, host := range []string{"", "evil.example", "127.0.0.1.evil.example:9", "localhost.evil.example", "box.evil.example"} {
		require.ErrorIs(t, lax.CheckHost(request(t, http.MethodGet, "Host", host)), fault.ToolDenied, host)
	}
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	guard := webguard.Guard{Origins: []string{"http://127.0.0.1:9"}}
	for _, headers := range [][]string{{}, {"Origin", "http://127.0.0.1:9"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Site", "cross-site", "Origin", "http://127.0.0.1:9"}} {
		require.NoError(t, guard.CheckOrigin(request(t, http.MethodGet, headers...)), headers)
	}
	for _, headers := range [][]string{{"Origin", "null"}, {"Origin", ""}, {"Origin", "https://127.0.0.1:9"}, {"Origin", "http://127.0.0.1:8"}, {"Origin", "http://127.0.0.1:9.evil.example"},
		{"Origin", "http://127.0.0.1:9", "Origin", "http://evil.example"}, {"Origin", "http://evil.example", "Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}} {
		require.ErrorIs(t, guard.CheckOrigin(request(t, http.MethodGet, headers...)), fault.ToolDenied, headers)
	}
	require.ErrorIs(t, guard.CheckOrigin(request(t, http.MethodPost, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")), fault.ToolDenied, "a form of another site")
}

func TestLoopback(t *testing.T) {
	for address, expected := range map[string]bool{"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "192.0.2.1:1": false, "example.org:1": false, "127.0.0.1": false} {
		require.Equal(t, expected, webguard.IsLoopback(address), address)
	}
}

func TestTokensAreKnownByTheirDigests(t *testing.T) {
	one, two := webguard.NewToken(), webguard.NewToken()
	require.NotEqual(t, one, two)
	path := filepath.Join(t.TempDir(), "tokens.json")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(`{"tokens": [{"name": "ci", "digest": "` + webguard.Digest(one) + `", "scopes": ["read"], "quota": 7}, {"name": "phone", "digest": "` + webguard.Digest(two) + `"}]}`)
	tokens, err := webguard.ReadTokens(path)
	require.NoError(t, err)
	found, known := tokens.Find(one)
	require.True(t, known)
	require.Equal(t, webguard.Token{Name: "ci", Digest: webguard.Digest(one), Scopes: []string{"read"}}, found)
	found, _ = tokens.Find(two)
	require.Equal(t, "phone", found.Name)
	for _, wrong := range []string{"", one + "x", one[1:], webguard.Digest(one), strings.ToLower(one)} {
		_, known = tokens.Find(wrong)
		require.False(t, known, wrong)
	}
	_, known = webguard.Tokens{{Digest: webguard.Digest("")}}.Find("")
	require.False(t, known, "no token is none")

	for text, named := range map[string]string{`[]`: path, `{"tokens": [{"name": "ci", "digest": "` + one + `"}]}`: `"ci"`,
		`{"tokens": [{"digest": "sha256:ab"}]}`: "64", `{`: path} {
		write(text)
		_, err := webguard.ReadTokens(path)
		require.ErrorIs(t, err, fault.InvalidParams, text)
		require.ErrorContains(t, err, named, text)
		require.NotContains(t, err.Error(), one, "a token that stands there by mistake is not repeated")
	}
	for _, text := range []string{`{}`, `{"tokens": []}`} {
		write(text)
		tokens, err := webguard.ReadTokens(path)
		require.NoError(t, err)
		require.Empty(t, tokens)
	}
	for _, absent := range []string{path + "x", ""} {
		tokens, err := webguard.ReadTokens(absent)
		require.NoError(t, err)
		require.Empty(t, tokens)
	}
	_, err = webguard.ReadTokens(t.TempDir())
	require.ErrorIs(t, err, fault.InvalidParams)
}

func TestBearer(t *testing.T) {
	for header, expected := range map[string]string{"": "", "Bearer abc": "abc", "bearer  abc ": "abc", "Basic abc": "", "Bearer": "", "abc": ""} {
		require.Equal(t, expected, webguard.Bearer(request(t, http.MethodGet, "Authorization", header)), header)
	}
}
