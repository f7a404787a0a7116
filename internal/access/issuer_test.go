package access_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	latency time.Duration // of the network between the issuer and this server
	asked   func()        // called at each request for the metadata; may be nil

	mu   sync.Mutex
	keys map[string]crypto.Signer // what it publishes, by kid
	more []any                    // other keys that it publishes, before these
}

const audience = "https://savant.example/mcp"

func newIssuer(t *testing.T) *issuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{t: t, key: key, keys: map[string]crypto.Signer{"one": key}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		if i.asked != nil {
			i.asked()
		}
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
		time.Sleep(i.latency)
		i.mu.Lock()
		defer i.mu.Unlock()
		list := append([]any{}, i.more...)
		for kid, key := range i.keys {
			list = append(list, published(kid, key.Public()))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": list})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// published is a key as an issuer publishes it (RFC 7517).
func published(kid string, key crypto.PublicKey) map[string]string {
	part := func(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
	switch key := key.(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": part(key.N.Bytes()), "e": part(big.NewInt(int64(key.E)).Bytes())}
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			panic(err)
		}
		return map[string]string{"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "alg": "ES256", "x": part(point[1:33]), "y": part(point[33:])}
	}
	panic("no key of the tests")
}

// publish replaces the keys that an issuer publishes.
func (i *issuer) publish(keys map[string]crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
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

	_, err = door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) { delete(h, "kid") }))
	require.NoError(t, err, "a token need not name its key")

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
		"no key named":     i.sign(stranger, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) { delete(h, "kid") }),
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

// An issuer that changes its keys is followed at the first token of a new one, which may be
// of another kind. A key that it no longer publishes counts no more, and a public key is
// not taken for a shared secret.
func TestAnIssuerThatChangesItsKeys(t *testing.T) {
	i := newIssuer(t)
	i.latency = 50 * time.Millisecond
	door := i.door()
	accepted := func(token string) bool {
		_, err := door.Caller(t.Context(), token)
		if err != nil {
			require.ErrorIs(t, err, access.ErrWrongToken)
		}
		return err == nil
	}
	require.True(t, accepted(i.good()))
	require.EqualValues(t, 1, i.fetched.Load())

	next, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i.publish(map[string]crypto.Signer{"one": i.key, "two": next})
	of := func(key any, method jwt.SigningMethod, kid string) string {
		return i.sign(key, method, func(_ jwt.MapClaims, h map[string]any) { h["kid"] = kid })
	}
	require.True(t, accepted(of(next, jwt.SigningMethodRS256, "two")))
	require.True(t, accepted(i.good()), "both are published")
	require.EqualValues(t, 2, i.fetched.Load())
	require.False(t, accepted(of(next, jwt.SigningMethodRS256, "one")), "a key under another's name")
	der, err := x509.MarshalPKIXPublicKey(next.Public())
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	require.False(t, accepted(of(text, jwt.SigningMethodHS256, "two")), "a public key as a shared secret")
	for range 20 {
		require.False(t, accepted(of(next, jwt.SigningMethodRS256, "made-up")))
	}
	require.EqualValues(t, 2, i.fetched.Load(), "keys that nobody has cost the issuer nothing")

	i.publish(map[string]crypto.Signer{"two": next})
	fresh := i.door() // as after the hour for which keys are kept
	_, err = fresh.Caller(t.Context(), i.good())
	require.ErrorIs(t, err, access.ErrWrongToken, "a key that was withdrawn")
	_, err = fresh.Caller(t.Context(), of(next, jwt.SigningMethodRS256, "two"))
	require.NoError(t, err)
}

// Clients that come with tokens of a new key while it is being fetched wait for it, and it
// is fetched once, also if the first one leaves.
func TestManyTokensOfANewKeyAtOnce(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	_, err := door.Caller(t.Context(), i.good())
	require.NoError(t, err)

	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i.publish(map[string]crypto.Signer{"one": i.key, "two": next})
	i.latency = 300 * time.Millisecond
	token := i.sign(next, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) { h["kid"] = "two" })
	impatient, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	_, _ = door.Caller(impatient, token) // nobody waits for this answer
	failed := make(chan error, 10)
	for range cap(failed) {
		go func() {
			_, err := door.Caller(t.Context(), token)
			failed <- err
		}()
	}
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	require.EqualValues(t, 2, i.fetched.Load())
}

// A client that gives up while its token waits for the issuer's keys does not lock the
// others out.
func TestAClientThatLeavesWhileTheIssuerIsAsked(t *testing.T) {
	i := newIssuer(t)
	ctx, leave := context.WithCancel(t.Context())
	i.asked = leave
	door := i.door()
	_, _ = door.Caller(ctx, i.good()) // nobody waits for this answer
	require.Error(t, ctx.Err(), "the issuer was asked")
	_, err := door.Caller(t.Context(), i.good())
	require.NoError(t, err)
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

// key is a published key with other members.
func (i *issuer) published(kid string, key crypto.Signer, change func(map[string]any)) map[string]any {
	made := map[string]any{}
	for name, value := range published(kid, key.Public()) {
		made[name] = value
	}
	change(made)
	return made
}

// TestExtensionsThatMustBeUnderstood: a token whose issuer wants an extension to be
// understood is refused, whichever it is (RFC 7515, 4.1.11).
func TestExtensionsThatMustBeUnderstood(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	for _, critical := range []any{[]string{"https://example.org/expires"}, []string{"exp"}, []string{"b64"}, []string{}, "exp", nil} {
		for _, named := range []bool{true, false} {
			_, err := door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) {
				h["crit"], h["exp"], h["https://example.org/expires"] = critical, 0, 0
				if !named {
					delete(h, "kid")
				}
			}))
			require.ErrorIs(t, err, access.ErrWrongToken, "%v", critical)
		}
	}
	_, err := door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) { h["x"] = 1 }))
	require.NoError(t, err, "another header may be ignored")
}

// TestClaimsHaveExactNames: a claim in another case is another claim.
func TestClaimsHaveExactNames(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	reader := func(change func(jwt.MapClaims)) (access.Caller, error) {
		return door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(claims jwt.MapClaims, _ map[string]any) {
			claims["scope"] = "read"
			change(claims)
		}))
	}
	for _, name := range []string{"SCOPE", "Scope", "\u017fcope", "scopE", "SCP", "Scp"} {
		caller, err := reader(func(claims jwt.MapClaims) { claims[name] = "run approve" })
		require.NoError(t, err)
		require.Equal(t, access.Caller{Name: "oauth:ada", Scopes: []access.Scope{access.Read}}, caller, name)
	}
	for _, name := range []string{"SUB", "Sub", "CLIENT_ID"} {
		caller, err := reader(func(claims jwt.MapClaims) { claims[name] = "root" })
		require.NoError(t, err)
		require.Equal(t, "oauth:ada", caller.Name, name)
	}
	for name, value := range map[string]any{"AUD": audience, "Aud": audience} {
		_, err := reader(func(claims jwt.MapClaims) { claims["aud"], claims[name] = "https://other.example/mcp", value })
		require.ErrorIs(t, err, access.ErrWrongToken, name)
	}
	for name, value := range map[string]any{"EXP": time.Now().Add(time.Hour).Unix(), "Exp": time.Now().Add(time.Hour).Unix()} {
		_, err := reader(func(claims jwt.MapClaims) { claims["exp"], claims[name] = time.Now().Add(-time.Hour).Unix(), value })
		require.ErrorIs(t, err, access.ErrWrongToken, name)
	}
	for more, what := range map[[2]string]error{{"", ""}: nil, {"", `,"scope":"run"`}: access.ErrWrongToken, {`,"kid":"one"`, ""}: access.ErrWrongToken, {`,"alg":"ES256"`, ""}: access.ErrWrongToken} {
		sent := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"one"`+more[0]+`}`)) + "." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil,
			`{"iss":%q,"aud":%q,"sub":"ada","exp":%d,"scope":"read"%s}`, i.url, audience, time.Now().Add(time.Hour).Unix(), more[1]))
		signature, err := jwt.SigningMethodES256.Sign(sent, i.key)
		require.NoError(t, err)
		_, err = door.Caller(t.Context(), sent+"."+base64.RawURLEncoding.EncodeToString(signature))
		require.ErrorIs(t, err, what, "members that are there twice: %v", more)
	}
}

// TestSubjectsAreTold: whoever the issuer tells apart are different callers.
func TestSubjectsAreTold(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	long, names := strings.Repeat("a", 120), map[string]bool{}
	subjects := []map[string]any{{"sub": "ada"}, {"client_id": "ada"}, {"sub": "client:ada"}, {"sub": "ada "}, {"sub": long + "1"}, {"sub": long + "2"}, {"client_id": long + "1"}, {"sub": strings.Repeat("\u00e9", 80) + "1"}, {"sub": strings.Repeat("\u00e9", 80) + "2"}}
	for _, each := range subjects {
		caller, err := door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(claims jwt.MapClaims, _ map[string]any) {
			delete(claims, "sub")
			maps.Copy(claims, each)
		}))
		require.NoError(t, err)
		require.Less(t, len(caller.Name), 200)
		names[caller.Name] = true
	}
	require.Len(t, names, len(subjects))
}

// TestALargeTokenIsNotRead: a stranger cannot make the server parse a large token.
func TestALargeTokenIsNotRead(t *testing.T) {
	i := newIssuer(t)
	door := i.door()
	large := func(groups int) error {
		_, err := door.Caller(t.Context(), i.sign(i.key, jwt.SigningMethodES256, func(claims jwt.MapClaims, _ map[string]any) { claims["groups"] = make([]int, groups) }))
		return err
	}
	require.NoError(t, large(5_000), "tokens that name many groups are read")
	require.ErrorIs(t, large(50_000), access.ErrWrongToken)
}

// TestKeysForSomethingElse: only a key that is for signatures verifies one, and a key that
// is not known leaves the others usable.
func TestKeysForSomethingElse(t *testing.T) {
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for what, change := range map[string]func(map[string]any){
		"for encryption":             func(key map[string]any) { key["use"] = "enc" },
		"for encryption, twice":      func(key map[string]any) { key["use"], key["USE"] = "enc", "sig" },
		"another case":               func(key map[string]any) { key["use"], key["Use"] = "enc", "sig" },
		"an unknown use":             func(key map[string]any) { key["use"] = "attestation" },
		"an empty use":               func(key map[string]any) { key["use"] = "" },
		"a use that is no text":      func(key map[string]any) { key["use"] = 1 },
		"for deriving":               func(key map[string]any) { delete(key, "use"); key["key_ops"] = []string{"deriveKey"} },
		"operations without verify":  func(key map[string]any) { key["key_ops"] = []string{"encrypt", "wrapKey"} },
		"no operations":              func(key map[string]any) { key["key_ops"] = []string{} },
		"an unknown operation":       func(key map[string]any) { key["key_ops"] = []string{"attest"} },
		"an unknown kind":            func(key map[string]any) { key["kty"] = "PQC" },
		"an unknown curve":           func(key map[string]any) { key["crv"] = "P-999" },
		"another algorithm":          func(key map[string]any) { key["alg"] = "ECDH-ES" },
		"a point that is not on it":  func(key map[string]any) { key["x"] = key["y"] },
		"a key that is half a key":   func(key map[string]any) { delete(key, "y") },
		"a key without a kind":       func(key map[string]any) { delete(key, "kty") },
		"a key with a duplicate kid": func(key map[string]any) { key["use"], key["kid"] = "enc", "one" },
	} {
		i := newIssuer(t)
		i.more = []any{i.published("other", other, change), "no key", 7, nil}
		door := i.door()
		for _, kid := range []string{"other", ""} {
			_, err := door.Caller(t.Context(), i.sign(other, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) {
				if h["kid"] = kid; kid == "" {
					delete(h, "kid")
				}
			}))
			require.ErrorIs(t, err, access.ErrWrongToken, what)
		}
		_, err := door.Caller(t.Context(), i.good())
		require.NoError(t, err, what)
	}
	i := newIssuer(t)
	i.more = []any{i.published("ops", other, func(key map[string]any) { delete(key, "use"); key["key_ops"] = []string{"sign", "verify"} })}
	_, err = i.door().Caller(t.Context(), i.sign(other, jwt.SigningMethodES256, func(_ jwt.MapClaims, h map[string]any) { h["kid"] = "ops" }))
	require.NoError(t, err, "a key whose operations include verify")
}
