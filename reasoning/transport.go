package reasoning

import (
	"context"
	"encoding/json"
	"time"
)

// Transport sends a request to a Reasoning API and returns the answer: by HTTP, in
// process, or through a queue. It makes one attempt and does not check the answer;
// Client retries and checks for every transport.
//
// The error is a *Temporary if a retry may help, a *Pending if the service is still
// deciding, else final: REASONING_UNAVAILABLE, LIMIT_EXCEEDED if the request is too
// large, or INVALID_INTENT if the answer is unusable. RoundTrip returns at once when
// ctx ends. It must not modify or retain the request; the caller owns the answer. It is
// safe for concurrent use.
type Transport interface {
	RoundTrip(ctx context.Context, request Request, observer Observer) (json.RawMessage, error)
}

// Temporary is an error that a retry may resolve. After is the pause that the other
// side asked for, or 0. Refused: nothing listens at an address of this machine.
type Temporary struct {
	Err     error
	After   time.Duration
	Refused bool
}

func (t *Temporary) Error() string { return t.Err.Error() }

// Unwrap makes the cause visible to errors.Is.
func (t *Temporary) Unwrap() error { return t.Err }

// Pending says that the service is still deciding: the client polls again after a
// pause. It is not a failed attempt.
type Pending struct{ After time.Duration }

func (p *Pending) Error() string { return "it is still deciding" }

// Away is the error of a service that could not be reached at all, so that nothing is
// known of the request.
type Away struct{ Err error }

func (a *Away) Error() string { return a.Err.Error() }

// Unwrap makes the cause visible to errors.As.
func (a *Away) Unwrap() error { return a.Err }
