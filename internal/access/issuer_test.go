package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/internal/access"
)

// issuer is an authorisation server of the tests.
type issuer struct {
	t       *testing.T
	url     string
	key     *ecdsa.PrivateKey
	named   string // what its metadata calls it; empty: url
	fetched atomic.Int32
	down    atomic.Bool
}

const audience = "https://savant.example/mcp"

func newIssuer(t *testing.T) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		if i.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		name := i.url
		if i.named != "" {
			name = i.named
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": name, "jwks_uri": i.url + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		point, err := i.key.PublicKey.Bytes()
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		part := func(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "alg": "ES256",
			"x": part(point[1:33]), "y": part(point[33:])}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// sign makes a token; change may spoil it.
func (i *issuer) sign(key any, method jwt.SigningMethod, change func(claims jwt.MapClaims, header map[string]any)) string {
	claims := jwt.MapClaims{"iss": i.url, "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Hour).Unix(), "scope": "guide approve email"}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"], token.Header["typ"] = "one", "at+jwt"
	change(claims, token.Header)
	signed, err := token.SignedString(key)
	require.NoError(i.t, err)
	return signed
}

func (i *issuer) good() string {
	return i.sign(i.key, jwt.SigningMethodES256, func(jwt.MapClaims, map[string]any) {})
}

func (i *issuer) door() *access.Door {
	trusted, err := access.NewIssuer(i.url, audience, nil)
	require.NoError(i.t, err)
	i.t.Cleanup(trusted.Close)
	door, err := access.NewDoor(access.DoorOptions{Issuer: trusted, Open: true})
	require.NoError(i.t, err)
	require.False(i.t, door.Open(), "where an issuer is set, a token is needed")
	return door
}

func TestTokensOfAnIssuer(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	caller, err := door.Caller(t.Context(), i.good())
	require.NoError(t, err)
	require.Equal(t, access.Caller{Name: "oauth:ada", Scopes: []access.Scope{access.Guide, access.Approve}}, caller)
	caller, err = door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(claims jwt.MapClaims, _ map[string]any) {
		delete(claims, "scope")
		claims["scp"], claims["aud"] = []string{"run"}, []string{"other", audience}
	}))
	require.NoError(t, err)
	require.True(t, caller.May(access.Read))
	require.False(t, caller.May(access.Approve))

	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	spoilt := func(change func(jwt.MapClaims, map[string]any)) string {
		return i.sign(i.key, jwt.SigningMethodES256, change)
	}
	for what, token := range map[string]string{
		"another key":      i.sign(stranger, jwt.SigningMethodES256, func(jwt.MapClaims, map[string]any) {}),
		"no signature":     i.sign(jwt.UnsafeAllowNoneSignatureType, jwt.SigningMethodNone, func(jwt.MapClaims, map[string]any) {}),
		"a shared secret":  i.sign([]byte("secret"), jwt.SigningMethodHS256, func(jwt.MapClaims, map[string]any) {}),
		"another issuer":   spoilt(func(c jwt.MapClaims, _ map[string]any) { c["iss"] = "https://evil.example" }),
		"another server":   spoilt(func(c jwt.MapClaims, _ map[string]any) { c["aud"] = "https://other.example/mcp" }),
		"no audience":      spoilt(func(c jwt.MapClaims, _ map[string]any) { delete(c, "aud") }),
		"expired":          spoilt(func(c jwt.MapClaims, _ map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"no expiry":        spoilt(func(c jwt.MapClaims, _ map[string]any) { delete(c, "exp") }),
		"not yet":          spoilt(func(c jwt.MapClaims, _ map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"nobody's":         spoilt(func(c jwt.MapClaims, _ map[string]any) { delete(c, "sub") }),
		"an unknown key":   spoilt(func(_ jwt.MapClaims, h map[string]any) { h["kid"] = "two" }),
		"another type":     spoilt(func(_ jwt.MapClaims, h map[string]any) { h["typ"] = "dpop+jwt" }),
		"no token":         "a.b.c",
		"a made-up secret": "savant_x",
	} {
		_, err := door.Caller(t.Context(), token)
		require.ErrorIs(t, err, access.ErrWrongToken, what)
		require.ErrorIs(t, err, fault.ToolDenied, what)
		require.NotContains(t, err.Error(), token, what)
	}
	require.LessOrEqual(t, i.fetched.Load(), int32(3), "tokens of unknown keys cost the issuer nothing")
}

func TestAnIssuerThatCannotBeTrusted(t *testing.T) {
	for _, address := range []string{"", "login.example", "http://login.example", "ftp://login.example"} {
		_, err := access.NewIssuer(address, audience, nil)
		require.ErrorIs(t, err, fault.InvalidParams, address)
	}
	_, err := access.NewIssuer("https://login.example", "", nil)
	require.ErrorIs(t, err, fault.InvalidParams)

	i := newIssuer(t)
	i.named = "https://other.example"
	_, err = i.door().Caller(t.Context(), i.good())
	require.ErrorIs(t, err, access.ErrWrongToken, "metadata of another issuer")
	require.Zero(t, i.fetched.Load())
	i.named = ""
	i.down.Store(true)
	_, err = i.door().Caller(t.Context(), i.good())
	require.ErrorIs(t, err, access.ErrWrongToken, "an issuer that is down lets nobody in")
	i.down.Store(false)
	_, err = i.door().Caller(t.Context(), i.good())
	require.NoError(t, err)
}
