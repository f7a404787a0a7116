package reasoning

import (
	"context"
	"encoding/json"
	"time"
)

// Transport sends a request to a Reasoning API and returns the answer: by HTTP,
// within the process, through a queue. It tries once and does not check the answer;
// Client retries and checks, for every transport.
//
// The error is a *Temporary if another attempt may help, a *Pending if the service
// is still at work, else final: REASONING_UNAVAILABLE, LIMIT_EXCEEDED if the request
// is too large, or INVALID_INTENT if the answer cannot be used. RoundTrip
// returns at once when ctx ends. It must not change or hold the request; the answer
// is the caller's. Several goroutines may call it at once.
type Transport interface {
	RoundTrip(ctx context.Context, request Request) (json.RawMessage, error)
}

// Temporary is an error that may be gone at the next attempt. After is how long the
// other side asked to wait, or 0.
type Temporary struct {
	Err   error
	After time.Duration
}

func (t *Temporary) Error() string { return t.Err.Error() }

// Unwrap makes the cause visible to errors.Is.
func (t *Temporary) Unwrap() error { return t.Err }

// Pending says that the service is still deciding: the same question is asked again
// after a pause. It is no failed attempt.
type Pending struct{ After time.Duration }

func (p *Pending) Error() string { return "it is still deciding" }
