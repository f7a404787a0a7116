package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"savant/fault"
	"savant/internal/httpclient"
	"savant/internal/jsonvalue"
)

// The issuer's timeout, the tolerated clock skew, the interval of key refreshes for
// unknown keys, how long a token of an unknown key waits for such a refresh and its
// answer, and the largest metadata. Anyone can send a token, so one of more than maxToken
// bytes is not parsed. A subject of more than maxSubject bytes is cut, and its digest follows.
const (
	issuerPatience  = 10 * time.Second
	clockLeeway     = 30 * time.Second
	keysInterval    = 10 * time.Second
	refreshPatience = 3 * time.Second
	maxMetadata     = 1 << 20
	maxToken        = 16 << 10
	maxSubject      = 100
)

// Issuer is an authorization server whose access tokens (JSON Web Tokens, RFC 9068) are
// accepted. Its keys are fetched at the first token, and cached. It is safe for
// concurrent use.
type Issuer struct {
	address string
	client  *http.Client
	logger  *slog.Logger
	parser  *jwt.Parser

	mu    sync.Mutex
	life  context.Context
	end   context.CancelFunc
	keys  keyfunc.Keyfunc
	tried time.Time // time of the last failed fetch
	why   error

	refreshing sync.Mutex // held while a key that is not known is looked for
}

// NewIssuer returns an issuer. audience, the address of this server, is the required
// audience of tokens. An address must be https or of this machine; else INVALID_PARAMS.
func NewIssuer(address, audience string, logger *slog.Logger) (*Issuer, error) {
	if err := secure(address); err != nil {
		return nil, fault.New(fault.InvalidParams, "the address of the authorisation server: %w", err)
	}
	if audience == "" {
		return nil, fault.New(fault.InvalidParams, "an authorisation server needs an audience, so that tokens for other servers are refused")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	life, end := context.WithCancel(context.Background())
	return &Issuer{address: address, logger: logger, life: life, end: end,
		client: &http.Client{Timeout: issuerPatience, CheckRedirect: httpclient.SameOrigin, Transport: bounded{http.DefaultTransport}},
		parser: jwt.NewParser(jwt.WithIssuer(address), jwt.WithAudience(audience), jwt.WithExpirationRequired(), jwt.WithLeeway(clockLeeway),
			jwt.WithValidMethods(signatures()))}, nil
}

// Close ends the fetching of keys.
func (i *Issuer) Close() { i.end() }

// Caller verifies a token's signature, audience and validity, and returns its bearer.
// The error does not contain the token.
func (i *Issuer) Caller(ctx context.Context, token string) (Caller, error) {
	if len(token) > maxToken {
		return Caller{}, fmt.Errorf("the token has more than %d bytes", maxToken)
	}
	header, _, _ := strings.Cut(token, ".")
	if data, err := base64.RawURLEncoding.DecodeString(header); err == nil {
		if _, err := jsonvalue.Decode(data); err != nil { // also a member that is there twice
			return Caller{}, fmt.Errorf("the token's header: %w", err)
		}
	}
	keys, err := i.keySet()
	if err != nil {
		return Caller{}, err
	}
	var said claims
	parsed, err := i.parser.ParseWithClaims(token, &said, i.key(ctx, keys))
	if err != nil {
		return Caller{}, err
	}
	if typ, _ := parsed.Header["typ"].(string); typ != "" && !isAccessToken(typ) {
		return Caller{}, fmt.Errorf("the token has the type %q; an access token is needed", fault.Cut(typ, 40))
	}
	name := "oauth:" + said.Subject
	switch {
	case said.Subject != "":
	case said.ClientID != "": // it is no subject of the same name
		name = "oauth client:" + said.ClientID
	default:
		return Caller{}, errors.New("the token names no subject")
	}
	if len(name) > maxSubject { // who begin alike are not one
		name = fault.Cut(name, maxSubject) + " " + jsonvalue.HexSum([]byte(name))
	}
	return Caller{Name: name, Scopes: said.scopes()}, nil
}

// isAccessToken reports whether a token's type permits an access token; many servers
// use the generic type.
func isAccessToken(typ string) bool {
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return typ == "at+jwt" || typ == "jwt"
}

// keySet returns the issuer's keys. It caches a failure briefly, so that forged tokens
// do not cause requests to the issuer. All callers need the keys, so a caller that
// leaves does not stop the request.
func (i *Issuer) keySet() (keyfunc.Keyfunc, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys != nil {
		return i.keys, nil
	}
	if i.why != nil && time.Since(i.tried) < keysInterval {
		return nil, i.why
	}
	address, err := i.keysAddress(i.life)
	if err == nil {
		must := false
		i.keys, err = keyfunc.NewDefaultOverrideCtx(i.life, []string{address}, keyfunc.Override{Client: i.keysClient(), HTTPTimeout: issuerPatience,
			NoErrorReturnFirstHTTPReq: &must, RateLimitWaitMax: refreshPatience, RefreshUnknownKID: rate.NewLimiter(rate.Every(keysInterval), 1),
			RefreshErrorHandlerFunc: func(string) func(context.Context, error) {
				return func(ctx context.Context, err error) {
					i.logger.WarnContext(ctx, "the keys of the authorisation server cannot be fetched", "cause", err.Error())
				}
			}})
	}
	if err != nil {
		i.keys, i.tried, i.why = nil, time.Now(), fmt.Errorf("the keys of the authorisation server cannot be fetched: %w", err)
		return nil, i.why
	}
	return i.keys, nil
}

// key finds the key of a token. One that is not known is fetched once, for all callers that
// come with it meanwhile, and also if the first of them leaves.
func (i *Issuer) key(ctx context.Context, keys keyfunc.Keyfunc) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		if _, critical := token.Header["crit"]; critical {
			return nil, errors.New("the token has extensions that must be understood (crit), and none is")
		}
		if _, named := token.Header["kid"]; !named {
			return unnamed(ctx, keys, token.Method.Alg())
		}
		if !unknown(ctx, keys, token) {
			return keys.KeyfuncCtx(ctx)(token)
		}
		i.refreshing.Lock()
		defer i.refreshing.Unlock()
		return keys.KeyfuncCtx(i.life)(token)
	}
}

// unknown reports whether a token names a key that was not fetched.
func unknown(ctx context.Context, keys keyfunc.Keyfunc, token *jwt.Token) bool {
	kid, named := token.Header["kid"].(string)
	if !named {
		return false
	}
	fetched, err := keys.Storage().KeyReadAll(ctx)
	if err != nil {
		return false
	}
	for _, each := range fetched {
		if each.Marshal().KID == kid {
			return false
		}
	}
	return true
}

// keysAddress discovers the address of the keys by RFC 8414 and OpenID Connect Discovery.
func (i *Issuer) keysAddress(ctx context.Context) (string, error) {
	var failed error
	for _, address := range i.wellKnown() {
		found, err := i.metadata(ctx, address)
		if err == nil {
			return found, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

func (i *Issuer) wellKnown() []string {
	base := strings.TrimSuffix(i.address, "/")
	address, err := url.Parse(base)
	if err != nil {
		return nil
	}
	origin := address.Scheme + "://" + address.Host
	return []string{origin + "/.well-known/oauth-authorization-server" + address.Path, origin + "/.well-known/openid-configuration" + address.Path,
		base + "/.well-known/openid-configuration"}
}

// metadata reads a server's metadata. Metadata of another issuer is refused.
func (i *Issuer) metadata(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	answer, err := i.client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var said struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: HTTP %d", address, answer.StatusCode)
	case json.NewDecoder(answer.Body).Decode(&said) != nil:
		return "", fmt.Errorf("%s: it is not JSON", address)
	case said.Issuer != i.address:
		return "", fmt.Errorf("%s: it belongs to another issuer, %q", address, fault.Cut(said.Issuer, 200))
	}
	return said.Keys, secure(said.Keys)
}

// secure refuses addresses open to man-in-the-middle attacks.
func secure(address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return fmt.Errorf("expected an address, got %q", fault.Cut(address, 200))
	}
	host := parsed.Hostname()
	if ip := net.ParseIP(host); parsed.Scheme == "https" || parsed.Scheme == "http" && (host == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("expected https, got %q", fault.Cut(address, 200))
}

// bounded limits the size of responses.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxMetadata), answer.Body}
	}
	return answer, err
}
