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
// The error is a *Temporary if another attempt may help, else final:
// REASONING_UNAVAILABLE, or INVALID_INTENT if the answer is not even JSON. RoundTrip
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
