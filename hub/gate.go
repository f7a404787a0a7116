package hub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/webguard"
)

// policy lets a page load its own files alone: nothing inline, nothing from
// elsewhere, and no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// sessionTime is how long a session lasts, and maxForm how long a form may be.
const (
	sessionTime = 12 * time.Hour
	maxForm     = 64 << 10
)

// gate keeps out whoever is not the person at this machine: other sites under a name
// of their own, forms of other sites, and programs that never saw the link.
type gate struct {
	key    []byte
	guard  webguard.Guard
	cookie string

	mu   sync.Mutex
	keys map[[sha256.Size]byte]bool // digests of the links that nobody followed yet
}

func newGate(address string, key []byte) (*gate, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%q: expected HOST:PORT: %w", fault.Cut(address, 100), err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fault.New(fault.InvalidParams, "the hub listens on this machine alone, and %s is reachable from elsewhere: use 127.0.0.1:%s", fault.Cut(host, 100), port)
	}
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // it never fails
	}
	hosts := []string{net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)}
	if port == "80" {
		hosts = append(hosts, strings.TrimSuffix(hosts[0], ":80"), "localhost")
	}
	// Cookies do not know ports: two hubs of one machine need two names.
	guard := webguard.Guard{Hosts: hosts}
	for _, each := range hosts {
		guard.Origins = append(guard.Origins, "http://"+each)
	}
	return &gate{key: key, guard: guard, cookie: "savant_hub_" + port, keys: map[[sha256.Size]byte]bool{}}, nil
}

// link makes a path that gives a session to whoever asks for it first.
func (g *gate) link() string {
	key := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[sha256.Sum256([]byte(key))] = true
	return "/enter?key=" + key
}

// redeem takes the key of a link. Looking for its digest tells nothing of other keys.
func (g *gate) redeem(key string) bool {
	digest := sha256.Sum256([]byte(key))
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.keys[digest]
	delete(g.keys, digest)
	return known
}

// newSession returns the cookie of a new session: when it ends and a number of its own,
// signed.
func (g *gate) newSession(now time.Time) *http.Cookie {
	session := strconv.FormatInt(now.Add(sessionTime).Unix(), 10) + "." + rand.Text()
	return &http.Cookie{Name: g.cookie, Value: session + "." + g.sign("session", session), Path: "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// session returns the session that a request belongs to, or "".
func (g *gate) session(r *http.Request, now time.Time) string {
	for _, cookie := range r.CookiesNamed(g.cookie) {
		at := strings.LastIndexByte(cookie.Value, '.')
		if at < 0 || !webguard.Equal(cookie.Value[at+1:], g.sign("session", cookie.Value[:at])) {
			continue
		}
		until, _, _ := strings.Cut(cookie.Value, ".")
		if seconds, err := strconv.ParseInt(until, 10, 64); err == nil && now.Unix() < seconds {
			return cookie.Value[:at]
		}
	}
	return ""
}

// token is what a form of a session must have.
func (g *gate) token(session string) string { return g.sign("form", session) }

func (g *gate) sign(purpose, text string) string {
	sum := hmac.New(sha256.New, g.key)
	sum.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// guarded sets the headers of every answer and refuses requests that name another
// host, as a rebound name of a site does, or come from another origin.
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
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// withSession lets through whoever has a session, and changes only from a form of it.
func (g *gate) withSession(next http.Handler, closed, refuse func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := g.session(r, time.Now())
		if session == "" {
			closed(w, r, fault.New(fault.ToolDenied, "this page needs the link that savant hub printed"))
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !webguard.Equal(r.PostFormValue("csrf"), g.token(session)) {
			refuse(w, r, fault.New(fault.ToolDenied, "the form is not one of this session: load the page again"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
