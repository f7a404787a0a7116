package hub

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
	"savant/think"
)

// policy lets a page load only its own files: nothing inline or from elsewhere, and no
// frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm is the maximum size of a form. page.js sends none that is larger.
const maxForm = 512 << 10

// gate protects the hub: against DNS rebinding (Host), CSRF (Origin and form tokens),
// and visitors without a session or a token.
type gate struct {
	guard    webguard.Guard
	public   string // the address in a browser
	cookie   string
	secure   bool // cookies only over TLS
	folder   string
	door     *access.Door // nil: no tokens from a file
	sessions *sessions
	guesses  guesses

	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool // digests of the unused links
}

func newGate(options Options) (*gate, error) {
	host, port, err := net.SplitHostPort(options.Address)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%q: expected HOST:PORT: %w", fault.Cut(options.Address, 100), err)
	}
	// Cookies ignore ports: two hubs on one machine need two names.
	g := &gate{public: strings.TrimSuffix(cmp.Or(options.URL, "http://"+options.Address), "/"), cookie: "savant_hub_" + port, folder: options.Folder, door: options.Door, keys: map[[sha256.Size]byte]bool{},
		sessions: openSessions(options.Sessions, options.Folder+"\x00"+options.Address, options.Logger)}
	if !webguard.IsLoopback(options.Address) {
		if !g.takesTokens() {
			return nil, fault.New(fault.InvalidParams, "%s can be reached from other machines, and there is no token; savant token add NAME makes one, or listen at 127.0.0.1:%s",
				fault.Cut(host, 100), port)
		}
		g.guard.Addresses = true
	}
	g.know(net.JoinHostPort(host, port), "http")
	g.know(net.JoinHostPort("localhost", port), "http")
	if options.URL != "" {
		address, err := url.Parse(options.URL)
		if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || strings.Trim(address.Path, "/") != "" {
			return nil, fault.New(fault.InvalidParams, "SAVANT_HTTP_URL: expected an address without a path, such as https://savant.example.org")
		}
		g.secure = address.Scheme == "https"
		g.know(strings.ToLower(address.Host), address.Scheme)
	}
	return g, nil
}

// know adds an accepted host.
func (g *gate) know(host, scheme string) {
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme]) // browsers omit the default port
	g.guard.Hosts = append(g.guard.Hosts, host)
	g.guard.Origins = append(g.guard.Origins, scheme+"://"+host)
}

// link returns an address that gives a session to its first visitor.
func (g *gate) link() string {
	key := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[sha256.Sum256([]byte(key))] = true
	return g.public + "/enter?key=" + key
}

// redeem consumes the key of a link. The lookup by digest leaks nothing about other
// keys.
func (g *gate) redeem(key string) bool {
	digest := sha256.Sum256([]byte(key))
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.keys[digest]
	delete(g.keys, digest)
	return known
}

// bearer returns the name and the scopes of a token; the error is TOOL_DENIED.
func (g *gate) bearer(ctx context.Context, token string) (access.Caller, error) {
	denied := fault.New(fault.ToolDenied, "the token is not accepted")
	if g.door == nil || token == "" {
		return access.Caller{}, denied
	}
	caller, err := g.door.Caller(ctx, token)
	if err != nil || caller.Folder != "" && filepath.Clean(caller.Folder) != filepath.Clean(g.folder) {
		return access.Caller{}, denied
	}
	return access.Caller{Name: caller.Name, Scopes: caller.Scopes}, nil
}

// takesTokens reports whether tokens can open the hub.
func (g *gate) takesTokens() bool { return g.door != nil && g.door.HasTokens() }

// newSession returns the cookie of a new session.
func (g *gate) newSession(visitor access.Caller, token string, now time.Time) *http.Cookie {
	return &http.Cookie{Name: g.cookie, Value: g.sessions.begin(visitor, token, now), Path: "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.secure}
}

// visitor is the sender of a request.
type visitor struct {
	session string // the browser's session; "" for a program with a token
	access.Caller
	upload upload // of a request that imports a run
}

// visitorOf returns the sender of a request, and whether they may enter.
func (g *gate) visitorOf(r *http.Request, now time.Time) (visitor, bool) {
	for _, cookie := range r.CookiesNamed(g.cookie) {
		found, known := g.sessions.find(cookie.Value, now)
		if known && (found.Token == "" || g.door != nil && g.door.Holds(found.Token)) {
			return visitor{session: cookie.Value, Caller: access.Caller{Name: found.Name, Scopes: found.Scopes}}, true
		}
	}
	if token := webguard.Bearer(r); token != "" {
		caller, err := g.try(r, token, now)
		return visitor{Caller: caller}, err == nil
	}
	return visitor{}, false
}

// person names the visitor in the records of runs: by their token, if they have one.
func (v visitor) person() think.Caller {
	return think.Caller{Name: cmp.Or(v.Name, think.ByHub), Client: think.ByHub}
}

// csrf is the CSRF token of a session's forms. It is empty without a session.
func (v visitor) csrf() string {
	if v.session == "" {
		return ""
	}
	sum := hmac.New(sha256.New, []byte(v.session))
	sum.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// guarded sets the headers of every response and refuses requests for another host (DNS
// rebinding) or from another origin.
func (g *gate) guarded(next http.Handler, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin") // with no-referrer a browser sends forms from the origin "null"
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		err := g.guard.CheckHost(r)
		if err == nil {
			err = g.guard.CheckOrigin(r)
		}
		if err != nil {
			refuse(w, r, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, formLimit(r))
		next.ServeHTTP(w, r)
	})
}

// visit is what the hub knows of a request: its sender, and the form that was refused.
type visit struct {
	visitor
	refusal
}

type visitKey struct{}

func visitOf(r *http.Request) visit {
	found, _ := r.Context().Value(visitKey{}).(visit)
	return found
}

// on returns the request with what is known of it.
func (v visit) on(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
}

// visitorFrom returns the sender of an admitted request.
func visitorFrom(r *http.Request) visitor { return visitOf(r).visitor }

// withSession admits visitors with a session or a token, and changes only with the
// session's CSRF token.
func (g *gate) withSession(next http.Handler, closed, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, known := g.visitorOf(r, time.Now())
		if !known {
			closed(w, r, fault.New(fault.ToolDenied, "this page needs the link that savant hub printed"))
			return
		}
		changes, token, tooLarge := r.Method != http.MethodGet && r.Method != http.MethodHead, "", false
		if changes {
			if tooLarge = formTooLarge(r); !tooLarge {
				token, who.upload = formToken(r)
			}
		}
		r = visit{visitor: who}.on(r)
		switch {
		case changes && tooLarge:
			refuse(w, r, fault.New(fault.LimitExceeded, "the form has more than %d kB, the limit of a page", formLimit(r)>>10))
		case changes && who.session != "" && !webguard.Equal(token, who.csrf()):
			refuse(w, r, fault.New(fault.ToolDenied, "the form does not belong to this session: load the page again"))
		case !who.May(access.Read):
			refuse(w, r, fault.New(fault.ToolDenied, "the token does not have the scope read"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// formToken returns the CSRF token in a request's form, and the form of an import. It is
// read only from the body: addresses leak.
func formToken(r *http.Request) (string, upload) {
	if r.URL.Path == importPath {
		sent := openUpload(r)
		return sent.token, sent
	}
	return r.PostFormValue("csrf"), upload{}
}

// formTooLarge reports whether the body of a request is over formLimit. It reads the form
// if the length is unknown; an import has to say its length.
func formTooLarge(r *http.Request) bool {
	if r.URL.Path == importPath {
		return r.ContentLength < 0 || r.ContentLength > maxUpload
	}
	return r.ContentLength > maxForm ||
		errors.As(errors.Join(r.ParseForm(), r.ParseMultipartForm(maxForm)), new(*http.MaxBytesError))
}

// formLimit is the maximum size of a request's body.
func formLimit(r *http.Request) int64 {
	if r.URL.Path == importPath {
		return maxUpload
	}
	return maxForm
}

// Rate limit for wrong tokens: how many an address may send at once, how often one
// more, and how many addresses are remembered.
const (
	guessesAtOnce  = 10
	guessesPause   = 6 * time.Second
	guessesAtPlace = 10_000
)

// guesses limits attempts with tokens, by address. Sessions and links are not affected.
type guesses struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

func (g *guesses) limiter(r *http.Request) *rate.Limiter {
	place, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		place = r.RemoteAddr
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[place] == nil {
		if g.of == nil || len(g.of) >= guessesAtPlace {
			g.of = map[string]*rate.Limiter{}
		}
		g.of[place] = rate.NewLimiter(rate.Every(guessesPause), guessesAtOnce)
	}
	return g.of[place]
}

// try returns the scopes of a request's token: TOOL_DENIED for a wrong one, and
// LIMIT_EXCEEDED, without checking the token, after too many wrong ones.
func (g *gate) try(r *http.Request, token string, now time.Time) (access.Caller, error) {
	limiter := g.guesses.limiter(r)
	if limiter.TokensAt(now) < 1 {
		return access.Caller{}, fault.New(fault.LimitExceeded, "this address sent too many wrong tokens: try again in %d seconds", guessesPause/time.Second)
	}
	caller, err := g.bearer(r.Context(), token)
	if err != nil {
		limiter.AllowN(now, 1)
	}
	return caller, err
}
