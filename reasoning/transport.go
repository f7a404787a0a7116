package reasoning

import (
	"context"
	"encoding/json"
	"time"
)

// Transport carries a request to whoever decides and brings the answer back:
// HTTP, in-process, a queue. It answers once, without retries of its own, and
// does not check the answer: Client does, for all of them.
//
// An error is a *Temporary where another attempt may help, else final:
// REASONING_UNAVAILABLE, or INVALID_INTENT where the answer is not even JSON.
// When ctx ends it returns at once. The request is not changed and not kept;
// the answer belongs to the caller. It may be called by several goroutines at
// once.
type Transport interface {
	RoundTrip(ctx context.Context, request Request) (json.RawMessage, error)
}

// Temporary is an error that another attempt may not meet. After is how long
// the other side asked to wait; 0 where it did not say.
type Temporary struct {
	Err   error
	After time.Duration
}

func (t *Temporary) Error() string { return t.Err.Error() }

// Unwrap makes the cause visible to errors.Is.
func (t *Temporary) Unwrap() error { return t.Err }
