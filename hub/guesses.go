package hub

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"savant/fault"
	"savant/internal/access"
)

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
func (g *gate) try(r *http.Request, token string, now time.Time) ([]access.Scope, error) {
	limiter := g.guesses.limiter(r)
	if limiter.TokensAt(now) < 1 {
		return nil, fault.New(fault.LimitExceeded, "this address sent too many wrong tokens: try again in %d seconds", guessesPause/time.Second)
	}
	scopes, err := g.bearer(r.Context(), token)
	if err != nil {
		limiter.AllowN(now, 1)
	}
	return scopes, err
}
